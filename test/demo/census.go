package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// census is every object a client can read, by name and UID, with a digest of its spec.
type census map[string][sha256.Size]byte

func takeCensus(ctx context.Context, config *rest.Config, gvr schema.GroupVersionResource) (census, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, next := census{}, metav1.ListOptions{Limit: 500}
	for {
		page, err := client.Resource(gvr).List(ctx, next)
		if err != nil {
			return nil, err
		}
		for _, object := range page.Items {
			spec, err := json.Marshal(object.Object["spec"])
			if err != nil {
				return nil, err
			}
			found[object.GetNamespace()+"/"+object.GetName()+" "+string(object.GetUID())] = sha256.Sum256(spec)
		}
		if next.Continue = page.GetContinue(); next.Continue == "" {
			return found, nil
		}
	}
}

// common counts the objects that are the same in both.
func (c census) common(other census) int {
	same := 0
	for key, digest := range c {
		if found, ok := other[key]; ok && found == digest {
			same++
		}
	}
	return same
}
