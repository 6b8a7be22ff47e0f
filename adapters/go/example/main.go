package main

import (
	"context"
	"errors"
	"time"
)

func main() {
	Serve(Adapter[*Shop]{
		Open: func(settings Settings) (*Shop, error) {
			timeout := time.Duration(settings.Timeout * float64(time.Second))
			return NewShop(settings.URL, settings.APIKey, timeout), nil
		},
		InContext: map[string]func(context.Context, *Shop, func(any) error) (any, error){
			"listPets": func(ctx context.Context, shop *Shop, read func(any) error) (any, error) {
				var given struct {
					Limit  *int64
					Status string
				}
				if err := read(&given); err != nil {
					return nil, err
				}
				return shop.List(ctx, given.Limit, given.Status)
			},
			"createPet": func(ctx context.Context, shop *Shop, read func(any) error) (any, error) {
				var pet NewPet
				if err := read(&pet); err != nil {
					return nil, err
				}
				return shop.Create(ctx, pet)
			},
			"getPet": func(ctx context.Context, shop *Shop, read func(any) error) (any, error) {
				var given struct{ PetID int64 }
				if err := read(&given); err != nil {
					return nil, err
				}
				return shop.Get(ctx, given.PetID)
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
