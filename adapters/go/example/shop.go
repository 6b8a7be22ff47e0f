// A client on net/http, with its own error for a status. Its calls may run at once in several goroutines.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

type Pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status,omitempty"`
}

type NewPet struct {
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status,omitempty"`
}

// StatusError says that the service returned another status than a success.
type StatusError struct{ Status int }

func (err *StatusError) Error() string { return fmt.Sprintf("the service returned %d", err.Status) }

// ReadError says that the response broke, or that it has no animal.
type ReadError struct{ Cause error }

func (err *ReadError) Error() string { return fmt.Sprintf("no readable response: %v", err.Cause) }
func (err *ReadError) Unwrap() error { return err.Cause }

// ErrNoAnimal says that the response has no animal.
var ErrNoAnimal = &ReadError{errors.New("no animal")}

type Shop struct {
	url, key string
	http     *http.Client
}

func NewShop(url, key string, timeout time.Duration) *Shop {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Shop{url, key, &http.Client{Timeout: timeout, Transport: transport, CheckRedirect: stay}}
}

func (shop *Shop) List(ctx context.Context, limit *int64, status string) ([]Pet, error) {
	query := url.Values{}
	if limit != nil {
		query.Set("limit", strconv.FormatInt(*limit, 10))
	}
	if status != "" {
		query.Set("status", status)
	}
	path := "/pets"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	pets := []Pet{}
	err := shop.ask(ctx, "GET", path, nil, http.StatusOK, &pets)
	return pets, err
}

func (shop *Shop) Create(ctx context.Context, pet NewPet) (*Pet, error) {
	return shop.one(ctx, "POST", "/pets", pet, http.StatusCreated)
}

func (shop *Shop) Get(ctx context.Context, id int64) (*Pet, error) {
	return shop.one(ctx, "GET", fmt.Sprintf("/pets/%d", id), nil, http.StatusOK)
}

// one returns an animal. Go reads null, and an object of any kind, as an animal without an id and a name.
func (shop *Shop) one(ctx context.Context, method, path string, given any, success int) (*Pet, error) {
	pet := &Pet{}
	if err := shop.ask(ctx, method, path, given, success, pet); err != nil {
		return nil, err
	}
	if *pet == (Pet{}) {
		return nil, ErrNoAnimal
	}
	return pet, nil
}

func (shop *Shop) Close() { shop.http.CloseIdleConnections() }

func (shop *Shop) ask(ctx context.Context, method, path string, given any, success int, result any) error {
	var body io.Reader
	if given != nil {
		text, err := json.Marshal(given)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, shop.url+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+shop.key)
	if given != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := shop.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return &ReadError{err}
	}
	if response.StatusCode != success {
		return &StatusError{response.StatusCode}
	}
	if err := json.Unmarshal(text, result); err != nil {
		return &ReadError{err}
	}
	return nil
}
