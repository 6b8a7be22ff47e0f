package main

import (
	"errors"
	"time"
)

func main() {
	Serve(Adapter[*Shop]{
		Open: func(settings Settings) (*Shop, error) {
			timeout := time.Duration(settings.Timeout * float64(time.Second))
			return NewShop(settings.URL, settings.APIKey, timeout), nil
		},
		Operations: map[string]func(*Shop, func(any) error) (any, error){
			"listPets": func(shop *Shop, read func(any) error) (any, error) {
				var given struct {
					Limit  *int64
					Status string
				}
				if err := read(&given); err != nil {
					return nil, err
				}
				return shop.List(given.Limit, given.Status)
			},
			"createPet": func(shop *Shop, read func(any) error) (any, error) {
				var pet NewPet
				if err := read(&pet); err != nil {
					return nil, err
				}
				return shop.Create(pet)
			},
			"getPet": func(shop *Shop, read func(any) error) (any, error) {
				var given struct{ PetID int64 }
				if err := read(&given); err != nil {
					return nil, err
				}
				return shop.Get(given.PetID)
			},
		},
		Close: func(shop *Shop) error { shop.Close(); return nil },
		Error: func(err error) Failure {
			var refused *StatusError
			if errors.As(err, &refused) {
				return Failure{Kind: "status", Status: refused.Status}
			}
			var unread *ReadError
			if errors.As(err, &unread) {
				return Failure{Kind: "protocol"}
			}
			return Failure{}
		},
	})
}
