// Clients in Go: the adapter makes the one whose name is its argument. Shop is the example of the kit.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Client is what the adapter calls. A client with a bug replaces one method of a correct one.
type Client interface {
	List(limit *int64, status string) (any, error)
	Create(pet NewPet) (any, error)
	Get(id int64) (any, error)
	Close()
}

// Correct clients

type Plain struct{ *Shop }

func (client Plain) List(limit *int64, status string) (any, error) {
	return client.Shop.List(limit, status)
}
func (client Plain) Create(pet NewPet) (any, error) { return client.Shop.Create(pet) }
func (client Plain) Get(id int64) (any, error)      { return client.Shop.Get(id) }

// Altered changes what a client sends and receives.
type Altered struct {
	http.RoundTripper
	trip func(send func(*http.Request) (*http.Response, error), request *http.Request) (*http.Response, error)
}

func (altered Altered) RoundTrip(request *http.Request) (*http.Response, error) {
	return altered.trip(altered.RoundTripper.RoundTrip, request)
}

func (altered Altered) CloseIdleConnections() {
	altered.RoundTripper.(*http.Transport).CloseIdleConnections()
}

func with(trip func(func(*http.Request) (*http.Response, error), *http.Request) (*http.Response, error)) func(Plain) Client {
	return func(client Plain) Client {
		client.http.Transport = Altered{client.http.Transport, trip}
		return client
	}
}

// again returns a copy of a request, with a new body.
func again(request *http.Request) *http.Request {
	copied := request.Clone(request.Context())
	if request.GetBody != nil {
		copied.Body, _ = request.GetBody()
	}
	return copied
}

// closed reads a response to its end, so that its connection is free.
func closed(response *http.Response) {
	io.Copy(io.Discard, response.Body)
	response.Body.Close()
}

func unpooled(client Plain) Client {
	client.http.Transport.(*http.Transport).DisableKeepAlives = true
	return client
}

// retriesReads sends a read again once, after a 503 without a wait.
var retriesReads = with(func(send func(*http.Request) (*http.Response, error), request *http.Request) (*http.Response, error) {
	response, err := send(request)
	if err != nil || request.Method != "GET" || response.StatusCode != 503 || response.Header.Get("Retry-After") != "" {
		return response, err
	}
	closed(response)
	return send(again(request))
})

// Clients with reported bugs

// Leaves the body of a refused request open (InfluxCommunity/influxdb3-go#102).
type bodyOfErrors struct{ Plain }

func (client bodyOfErrors) Get(id int64) (any, error) {
	request, _ := http.NewRequest("GET", fmt.Sprintf("%s/pets/%d", client.url, id), nil)
	request.Header.Set("Authorization", "Bearer "+client.key)
	response, err := client.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != 200 {
		return nil, &StatusError{response.StatusCode}
	}
	defer response.Body.Close()
	pet := Pet{}
	if err := json.NewDecoder(response.Body).Decode(&pet); err != nil {
		return nil, &ReadError{err}
	}
	return pet, nil
}

// Sends every request again if the connection ends (openshift-online/ocm-sdk-go#1030).
var retriesEOF = with(func(send func(*http.Request) (*http.Response, error), request *http.Request) (*http.Response, error) {
	response, err := send(request)
	if err != nil {
		return send(again(request))
	}
	return response, err
})

// Sends a create again after a 5xx (home-operations/external-dns-unifi-webhook#233).
var retriesStatus = with(func(send func(*http.Request) (*http.Response, error), request *http.Request) (*http.Response, error) {
	response, err := send(request)
	if err != nil || response.StatusCode < 500 {
		return response, err
	}
	closed(response)
	return send(again(request))
})

// Reads Retry-After only as a number, and does not wait for a date (open-telemetry/opamp-go#131).
var datesIgnored = with(func(send func(*http.Request) (*http.Response, error), request *http.Request) (*http.Response, error) {
	response, err := send(request)
	if err != nil || request.Method != "GET" || response.StatusCode != 429 {
		return response, err
	}
	closed(response)
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	if seconds > 1 {
		seconds = 1
	}
	time.Sleep(time.Duration(seconds) * time.Second)
	return send(again(request))
})

// Has no timeout (google/safebrowsing#35).
func noTimeout(client Plain) Client {
	client.http.Timeout = 0
	return client
}

// Reads numbers as float64 (typesense/typesense-go#114).
type floats struct{ Plain }

func (client floats) Get(id int64) (any, error) {
	pet, err := client.Shop.Get(id)
	if err != nil {
		return nil, err
	}
	text, _ := json.Marshal(pet)
	var read map[string]any
	err = json.Unmarshal(text, &read)
	return Pet{int64(read["id"].(float64)), pet.Name, pet.CategoryID, pet.Status}, err
}

// Closes no body of a response (jomei/notionapi#66). A body that is not read to its end keeps its connection.
type bodies struct{ Plain }

func (client bodies) Create(given NewPet) (any, error) {
	text, _ := json.Marshal(given)
	request, _ := http.NewRequest("POST", client.url+"/pets", bytes.NewReader(text))
	request.Header = http.Header{"Authorization": {"Bearer " + client.key}, "Content-Type": {"application/json"}}
	response, err := client.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != 201 {
		return nil, &StatusError{response.StatusCode}
	}
	pet := Pet{}
	if err := json.NewDecoder(response.Body).Decode(&pet); err != nil {
		return nil, &ReadError{err}
	}
	return pet, nil
}

// Takes null for an animal without a name. The machine found this bug in the first example of the kit.
type nullIsPet struct{ Plain }

func (client nullIsPet) Get(id int64) (any, error) {
	pet, err := client.Shop.Get(id)
	if err == ErrNoAnimal {
		return Pet{}, nil
	}
	return pet, err
}

// Logs a failed request with its token (josuebrunel/ezauth#89).
type keyLogged struct{ Plain }

func (client keyLogged) Create(pet NewPet) (any, error) {
	created, err := client.Shop.Create(pet)
	if err != nil {
		log.Printf("create failed: %v, headers: %v", err, http.Header{"Authorization": {"Bearer " + client.key}})
	}
	return created, err
}

// Uses a response that is nil after a lost connection (gotsunami/mangopay2-go-sdk#4).
type panics struct{ Plain }

func (client panics) Create(pet NewPet) (any, error) {
	created, err := client.Shop.Create(pet)
	if err != nil {
		var refused *StatusError
		errors.As(err, &refused)
		return nil, &StatusError{refused.Status}
	}
	return created, err
}

var makers = map[string]func(Plain) Client{
	"plain":         func(client Plain) Client { return client },
	"unpooled":      unpooled,
	"retriesReads":  retriesReads,
	"bodyOfErrors":  func(client Plain) Client { return bodyOfErrors{client} },
	"retriesEOF":    retriesEOF,
	"retriesStatus": retriesStatus,
	"datesIgnored":  datesIgnored,
	"noTimeout":     noTimeout,
	"floats":        func(client Plain) Client { return floats{client} },
	"bodies":        func(client Plain) Client { return bodies{client} },
	"nullIsPet":     func(client Plain) Client { return nullIsPet{client} },
	"keyLogged":     func(client Plain) Client { return keyLogged{client} },
	"panics":        func(client Plain) Client { return panics{client} },
}

func main() {
	type reader = func(any) error
	Serve(Adapter[Client]{
		Open: func(settings Settings) (Client, error) {
			timeout := time.Duration(settings.Timeout * float64(time.Second))
			return makers[os.Args[1]](Plain{NewShop(settings.URL, settings.APIKey, timeout)}), nil
		},
		Operations: map[string]func(Client, func(any) error) (any, error){
			"listPets": func(client Client, read reader) (any, error) {
				var given struct {
					Limit  *int64
					Status string
				}
				read(&given)
				return client.List(given.Limit, given.Status)
			},
			"createPet": func(client Client, read reader) (any, error) {
				var pet NewPet
				read(&pet)
				return client.Create(pet)
			},
			"getPet": func(client Client, read reader) (any, error) {
				var given struct{ PetID int64 }
				read(&given)
				return client.Get(given.PetID)
			},
		},
		Close: func(client Client) error { client.Close(); return nil },
		Error: func(err error) Failure {
			var refused *StatusError
			var unread *ReadError
			switch {
			case errors.As(err, &refused):
				return Failure{Kind: "status", Status: refused.Status}
			case errors.As(err, &unread):
				return Failure{Kind: "protocol"}
			}
			return Failure{}
		},
	})
}
