package main

import (
	"context"
	"os"
	"testing"
)

// TestMain runs children of the benchmark, too: child starts this program anew.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		if err := runChild(context.Background(), os.Args[2:]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}
