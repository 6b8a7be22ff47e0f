// Clients in Go: the adapter makes the one whose name is its argument. Shop is the example of the kit.
package main

import (
	"bytes"
	"context"
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
	List(ctx context.Context, limit *int64, status string) (any, error)
	Create(ctx context.Context, pet NewPet) (any, error)
	Get(ctx context.Context, id int64) (any, error)
	Close()
}

// Correct clients

type Plain struct{ *Shop }

func (client Plain) List(ctx context.Context, limit *int64, status string) (any, error) {
	return client.Shop.List(ctx, limit, status)
}
func (client Plain) Create(ctx context.Context, pet NewPet) (any, error) {
	return client.Shop.Create(ctx, pet)
}
func (client Plain) Get(ctx context.Context, id int64) (any, error) { return client.Shop.Get(ctx, id) }

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

func decoded(response *http.Response) (any, error) {
	pet := Pet{}
	if err := json.NewDecoder(response.Body).Decode(&pet); err != nil {
		return nil, &ReadError{err}
	}
	if pet == (Pet{}) {
		return nil, ErrNoAnimal
	}
	return pet, nil
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

// slots sends at most eight requests at once. A cancelled call gives its slot back.
type slots struct {
	Plain
	free chan struct{}
}

func withSlots(client Plain) slots { return slots{client, make(chan struct{}, 8)} }

func (client slots) List(ctx context.Context, limit *int64, status string) (any, error) {
	select {
	case client.free <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-client.free }()
	return client.Plain.List(ctx, limit, status)
}

// Clients with reported bugs

// Does not give its slot back if the context is cancelled (ClickHouse/clickhouse-go#1759).
type slotLost struct{ slots }

func (client slotLost) List(ctx context.Context, limit *int64, status string) (any, error) {
	client.free <- struct{}{}
	pets, err := client.Plain.List(ctx, limit, status)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	<-client.free
	return pets, err
}

// Leaves the body of a refused request open (InfluxCommunity/influxdb3-go#102).
type bodyOfErrors struct{ Plain }

func (client bodyOfErrors) Get(ctx context.Context, id int64) (any, error) {
	request, _ := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s/pets/%d", client.url, id), nil)
	request.Header.Set("Authorization", "Bearer "+client.key)
	response, err := client.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != 200 {
		return nil, &StatusError{response.StatusCode}
	}
	defer response.Body.Close()
	return decoded(response)
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

func (client floats) Get(ctx context.Context, id int64) (any, error) {
	pet, err := client.Shop.Get(ctx, id)
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

func (client bodies) Create(ctx context.Context, given NewPet) (any, error) {
	text, _ := json.Marshal(given)
	request, _ := http.NewRequestWithContext(ctx, "POST", client.url+"/pets", bytes.NewReader(text))
	request.Header = http.Header{"Authorization": {"Bearer " + client.key}, "Content-Type": {"application/json"}}
	response, err := client.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != 201 {
		return nil, &StatusError{response.StatusCode}
	}
	return decoded(response)
}

// Takes null for an animal without a name. The machine found this bug in the first example of the kit.
type nullIsPet struct{ Plain }

func (client nullIsPet) Get(ctx context.Context, id int64) (any, error) {
	pet, err := client.Shop.Get(ctx, id)
	if err == ErrNoAnimal {
		return Pet{}, nil
	}
	return pet, err
}

// Logs a failed request with its token (josuebrunel/ezauth#89).
type keyLogged struct{ Plain }

func (client keyLogged) Create(ctx context.Context, pet NewPet) (any, error) {
	created, err := client.Shop.Create(ctx, pet)
	if err != nil {
		log.Printf("create failed: %v, headers: %v", err, http.Header{"Authorization": {"Bearer " + client.key}})
	}
	return created, err
}

// Uses a response that is nil after a lost connection (gotsunami/mangopay2-go-sdk#4).
type panics struct{ Plain }

func (client panics) Create(ctx context.Context, pet NewPet) (any, error) {
	created, err := client.Shop.Create(ctx, pet)
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
	"slots":         func(client Plain) Client { return withSlots(client) },
	"slotLost":      func(client Plain) Client { return slotLost{withSlots(client)} },
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
		InContext: map[string]func(context.Context, Client, func(any) error) (any, error){
			"listPets": func(ctx context.Context, client Client, read reader) (any, error) {
				var given struct {
					Limit  *int64
					Status string
				}
				read(&given)
				return client.List(ctx, given.Limit, given.Status)
			},
			"createPet": func(ctx context.Context, client Client, read reader) (any, error) {
				var pet NewPet
				read(&pet)
				return client.Create(ctx, pet)
			},
			"getPet": func(ctx context.Context, client Client, read reader) (any, error) {
				var given struct{ PetID int64 }
				read(&given)
				return client.Get(ctx, given.PetID)
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
