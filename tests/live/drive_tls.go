// Sends a request for each line "URL KEY SECONDS" and prints the status or the error. Trusts the given authority;
// without one, the authorities that Go trusts by default.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	config := &tls.Config{}
	if len(os.Args) > 1 {
		pem, err := os.ReadFile(os.Args[1])
		if err != nil {
			panic(err)
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(pem)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		seconds, err := strconv.ParseFloat(words[2], 64)
		if err != nil {
			panic(err)
		}
		fmt.Println(ask(config, words[0], words[1], time.Duration(seconds*float64(time.Second))))
	}
}

func ask(config *tls.Config, url, key string, timeout time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err == nil {
		response.Body.Close()
		return strconv.Itoa(response.StatusCode)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "context.DeadlineExceeded"
	case errors.Is(err, syscall.ECONNRESET):
		return "ECONNRESET"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}
