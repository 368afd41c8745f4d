package converters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/unpacking"
)

// watcher notes what is wrong with an answer before the API server's code puts it into words.
type watcher struct {
	next    http.RoundTripper
	timeout time.Duration
	asker   *converter
}

func (w *watcher) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), w.timeout)
	defer cancel()
	go func(ends <-chan struct{}) { // the API server's code has a context of its own
		select {
		case <-ends:
			cancel()
		case <-ctx.Done():
		}
	}(w.asker.ends)
	response, body, err := w.answer(request.WithContext(ctx))
	ended := utilnet.IsProbableEOF(err)
	if ended && request.GetBody != nil { // a connection that was kept has been closed meanwhile
		again := request.Clone(ctx)
		if again.Body, err = request.GetBody(); err == nil {
			response, body, err = w.answer(again)
		}
	}
	if response != nil {
		response.Header.Del("Retry-After") // for which the API server's code would wait, however long that is
	}
	if err == nil { // a server that sees its client go may still answer something, and net/http takes it
		err = ctx.Err()
	}
	switch {
	case err != nil:
		w.asker.note(unanswered{notAnswered(err, ctx.Err() != nil), ended})
		return nil, err
	case response.StatusCode < http.StatusOK || response.StatusCode > http.StatusPartialContent:
		w.asker.note(unanswered{Failure: conversion.Failure{Fault: conversion.FaultAnswer, Says: "it answers " + response.Status}})
	case !json.Valid(body):
		w.asker.note(unanswered{Failure: conversion.Failure{Fault: conversion.FaultAnswer, Says: "it answers no JSON"}})
	}
	return response, nil
}

// An answer has a bound, so that no webhook takes the memory of who asks: some times as large as what was sent, and room for what a
// version adds.
const (
	timesSent = 4
	roomBytes = roomDecoded / 2
	// roomDecoded is the same for what it takes when it is decoded, in bytes: one that is sent may take a hundred. A controller decodes up
	// to 32 answers at a time, in a container of 256 MiB.
	roomDecoded = 1 << 20
	// textHeld is how often the text of an answer is held until it is decoded: as it came, by the API server's code, and of each object.
	textHeld = 3
)

// costOf is what a request takes when it is decoded.
func costOf(request *http.Request) (cost int64) {
	if request.GetBody == nil {
		return 0
	}
	body, err := request.GetBody()
	if err != nil {
		return 0
	}
	defer func() { _ = body.Close() }()
	sent, _ := io.ReadAll(body)
	cost, _ = unpacking.CostOfJSON(sent)
	return cost
}

// answer reads all of it.
func (w *watcher) answer(request *http.Request) (*http.Response, []byte, error) {
	response, err := w.next.RoundTrip(request)
	if err != nil {
		return nil, nil, err
	}
	most := timesSent*max(0, request.ContentLength) + roomBytes
	body, err := io.ReadAll(io.LimitReader(response.Body, min(most, w.asker.room/textHeld)+1))
	length := int64(len(body))
	if takes := max(textHeld*length, unpacking.SizeOfJSON(body)); length > most {
		err = conversion.Failure{Fault: conversion.FaultAnswer, Says: fmt.Sprintf("it answers more than %d bytes to %d", most, request.ContentLength)}
	} else if takes > w.asker.room {
		err = conversion.Failure{Fault: conversion.FaultTooLarge, Says: fmt.Sprintf("the webhook answers what takes %d MiB, as text or decoded, and there is memory for %d", takes>>20, w.asker.room>>20)}
	} else if cost, _ := unpacking.CostOfJSON(body); cost > timesSent*costOf(request)+roomDecoded {
		err = conversion.Failure{Fault: conversion.FaultAnswer, Says: fmt.Sprintf("it answers %d bytes that take %d KiB when they are decoded, far more than the %d bytes that were sent", length, cost>>10, request.ContentLength)}
	}
	err = errors.Join(err, response.Body.Close())
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, body, err
}

// notAnswered distinguishes a webhook that is late from one that is not there.
func notAnswered(err error, late bool) conversion.Failure {
	if refused := (conversion.Failure{}); errors.As(err, &refused) {
		return refused
	}
	dial := &net.OpError{}
	if late && (!errors.As(err, &dial) || dial.Op != "dial") {
		return conversion.Failure{Fault: conversion.FaultLate, Says: "there is no answer in time"}
	}
	return conversion.Failure{Fault: conversion.FaultUnreachable, Says: err.Error()}
}
