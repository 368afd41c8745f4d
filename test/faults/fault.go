package faults

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Drop loses the request on its way: the API server never hears of it, and the client hears nothing until it gives up or
// the time is over, when the connection breaks.
func Drop(most time.Duration) Fault {
	return func(e *Exchange) {
		e.swallow()
		e.hang(most)
		e.reset(nil)
	}
}

// DropAnswer loses the answer on its way: the request is carried out, and the client hears nothing.
func DropAnswer(most time.Duration) Fault {
	return func(e *Exchange) {
		e.ask()
		e.hang(most)
		e.reset(nil)
	}
}

// Delay holds the request back and passes it on.
func Delay(by time.Duration) Fault {
	return func(e *Exchange) {
		e.hang(by)
		e.Pass()
	}
}

// Hold holds the request back until the channel is closed, and passes it on.
func Hold(until <-chan struct{}) Fault {
	return func(e *Exchange) {
		select {
		case <-until:
		case <-e.r.Context().Done():
		case <-e.closed:
		}
		e.Pass()
	}
}

// Reset has the request carried out and breaks the connection in the middle of the answer.
func Reset() Fault {
	return func(e *Exchange) { e.reset(e.ask().half()) }
}

// InsteadOf does something at the moment of the request, which is then lost on its way.
func InsteadOf(what func()) Fault {
	return func(e *Exchange) {
		e.swallow()
		what()
		e.reset(nil)
	}
}

// RightAfter does something once the request is carried out, and loses the answer.
func RightAfter(what func()) Fault {
	return func(e *Exchange) {
		e.ask()
		what()
		e.reset(nil)
	}
}

// Tell passes the request on and tells how it was answered.
func Tell(code func(int)) Fault {
	return func(e *Exchange) {
		a := e.ask()
		code(a.code)
		e.give(a)
	}
}

// Conflict answers that somebody else has written the object meanwhile.
func Conflict() Fault {
	return refuse(metav1.Status{
		Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Message: "the object has been modified; please apply your changes to the latest version and try again",
	})
}

// TooMany answers that the API server is busy and that the client shall come back after some seconds.
func TooMany(retryAfter int32) Fault {
	return refuse(metav1.Status{
		Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: "too many requests, please try again later",
		Details: &metav1.StatusDetails{RetryAfterSeconds: retryAfter},
	})
}

// InternalError answers 500.
func InternalError() Fault {
	return refuse(metav1.Status{
		Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: "Internal error occurred: etcdserver: mvcc: database space exceeded",
	})
}

// Unavailable answers 503, in the words of a load balancer that has no server left: no Status.
func Unavailable() Fault {
	return func(e *Exchange) {
		e.swallow()
		http.Error(e.w, "no healthy upstream", http.StatusServiceUnavailable)
	}
}

// Expired answers a list that is to be continued with 410: the API server has compacted what it was begun from. With
// fresh the answer carries a token to go on with, from the same place at whatever is newest; without, the list has to
// begin anew. Other requests are passed on.
func Expired(fresh bool) Fault {
	return func(e *Exchange) {
		token := e.r.URL.Query().Get("continue")
		if token == "" {
			e.Pass()
			return
		}
		gone := metav1.Status{
			Code: http.StatusGone, Reason: metav1.StatusReasonExpired,
			Message: "The provided continue parameter is too old to display a consistent list result",
		}
		if fresh {
			gone.Continue = inconsistent(token)
		}
		refuse(gone)(e)
	}
}

// inconsistent is the token that an API server hands out for an expired one (k8s.io/apiserver pkg/storage/continue.go).
func inconsistent(token string) string {
	fields := map[string]any{}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(raw, &fields)
	}
	if err != nil {
		panic(fmt.Sprintf("continue token %q is not what it was: %v", token, err))
	}
	fields["rv"] = -1
	raw, _ = json.Marshal(fields)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// StaleLists answers each list as it was answered for the first time, however old that is by now.
func StaleLists() Fault {
	var mu sync.Mutex
	first := map[string]answer{}
	return func(e *Exchange) {
		mu.Lock()
		defer mu.Unlock()
		uri := e.r.URL.RequestURI()
		old, known := first[uri]
		if !known {
			old = e.ask()
			first[uri] = old
		}
		e.give(old)
	}
}

// refuse answers in the API server's stead.
func refuse(status metav1.Status) Fault {
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	status.Status = metav1.StatusFailure
	return func(e *Exchange) {
		e.swallow()
		body, _ := json.Marshal(status)
		header := http.Header{"Content-Type": {"application/json"}}
		if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			header.Set("Retry-After", fmt.Sprint(status.Details.RetryAfterSeconds))
		}
		e.give(answer{code: int(status.Code), header: header, body: body})
	}
}
