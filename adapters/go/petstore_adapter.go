// The kit for clients in Go: copy this file into a folder with your adapter. It needs Go 1.18 or newer, and no module.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
)

// Settings are what a client needs. The timeout is in seconds, and CA is the file of a certificate authority, or empty.
type Settings struct {
	URL     string  `json:"url"`
	APIKey  string  `json:"api_key"`
	Timeout float64 `json:"timeout"`
	CA      string  `json:"ca"`
}

// Failure is what an error means. Kind is status, transport, timeout, protocol, argument, cancelled or other.
type Failure struct {
	Kind    string `json:"kind"`
	Status  int    `json:"status,omitempty"`
	Message string `json:"message"`
	Type    string `json:"type"`
}

// Adapter makes the calls of clients of type C. Read unmarshals the arguments of a call into a struct.
type Adapter[C any] struct {
	Open       func(Settings) (C, error)
	Operations map[string]func(client C, read func(arguments any) error) (any, error)
	// InContext has the operations that take a context. If all do, the check cancels calls.
	InContext map[string]func(ctx context.Context, client C, read func(arguments any) error) (any, error)
	Close     func(C) error
	// Error returns what an error means, or a Failure without a kind for the meaning that the kit finds.
	Error func(error) Failure
}

type request struct {
	Hello     int             `json:"hello"`
	ID        int64           `json:"id"`
	Do        string          `json:"do"`
	Client    string          `json:"client"`
	Operation string          `json:"operation"`
	Arguments json.RawMessage `json:"arguments"`
	Call      int64           `json:"call"`
	Settings
}

// Serve replies to requests until standard input ends.
func Serve[C any](adapter Adapter[C]) {
	replies := os.Stdout
	// What a library prints must not stand between the replies.
	os.Stdout = os.Stderr
	var writing sync.Mutex
	reply := func(message any) {
		line, err := json.Marshal(message)
		if err != nil {
			panic(err)
		}
		writing.Lock()
		defer writing.Unlock()
		replies.Write(append(line, '\n'))
	}
	clients, cancels := sync.Map{}, sync.Map{}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(err)
		}
		if asked.Hello != 0 {
			names := []string{}
			for name := range adapter.Operations {
				names = append(names, name)
			}
			for name := range adapter.InContext {
				names = append(names, name)
			}
			sort.Strings(names)
			hello := map[string]any{"hello": 1, "operations": names, "concurrent": true, "name": runtime.Version()}
			hello["cancel"] = len(adapter.Operations) == 0
			reply(hello)
			continue
		}
		if asked.Do == "cancel" {
			if cancel, isRunning := cancels.Load(asked.Call); isRunning {
				cancel.(context.CancelFunc)()
			}
			reply(map[string]any{"id": asked.ID, "ok": nil})
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancels.Store(asked.ID, cancel)
		go func() {
			result, err := done(ctx, adapter, &clients, asked)
			// The context is not cancelled at the end of a call: that would hide a body that the client left open.
			cancels.Delete(asked.ID)
			if err != nil {
				failure := told(adapter, err)
				if ctx.Err() != nil && errors.Is(err, context.Canceled) {
					failure.Kind, failure.Status = "cancelled", 0
				}
				reply(map[string]any{"id": asked.ID, "error": failure})
				return
			}
			reply(map[string]any{"id": asked.ID, "ok": result})
		}()
	}
}

func done[C any](ctx context.Context, adapter Adapter[C], clients *sync.Map, asked request) (any, error) {
	if asked.Do == "open" {
		client, err := adapter.Open(asked.Settings)
		clients.Store(asked.Client, client)
		return nil, err
	}
	stored, _ := clients.Load(asked.Client)
	client := stored.(C)
	if asked.Do == "close" {
		clients.Delete(asked.Client)
		if adapter.Close == nil {
			return nil, nil
		}
		return nil, adapter.Close(client)
	}
	read := func(arguments any) error { return json.Unmarshal(asked.Arguments, arguments) }
	if operation, takesContext := adapter.InContext[asked.Operation]; takesContext {
		return operation(ctx, client, read)
	}
	return adapter.Operations[asked.Operation](client, read)
}

func told[C any](adapter Adapter[C], err error) Failure {
	failure := Failure{}
	if adapter.Error != nil {
		failure = adapter.Error(err)
	}
	if failure.Kind == "" {
		failure.Kind = kind(err)
	}
	if failure.Message == "" {
		failure.Message = err.Error()
	}
	if failure.Type == "" {
		failure.Type = strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", err), "*"), "main.")
	}
	return failure
}

func kind(err error) string {
	var network net.Error
	var syntax *json.SyntaxError
	var shape *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax), errors.As(err, &shape):
		return "protocol"
	case errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "transport"
	}
	return "other"
}

// Decode reads a JSON text into a value. Integers in an `any` stay exact, as json.Number.
func Decode(text []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(value)
}
