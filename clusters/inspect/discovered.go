package inspect

import (
	"encoding/json"
	"encoding/json/jsontext"
	"net/http"

	"github.com/moult-dev/moult/controllers/rewrite/streams"
	"github.com/moult-dev/moult/policies/survivors"
)

// mostCategories is how many categories of a resource are read: ordinary ones have two or three.
const mostCategories = 32

// briefly is an HTTP client that reads of the resources of a cluster no more than is wanted. A CRD may have megabytes of short names and
// categories, and the API server lists them for each of its versions.
func briefly(httpClient *http.Client) *http.Client {
	brief := *httpClient
	brief.Transport = streams.Transport(httpClient.Transport, func(string) bool { return true }, func(name string, kind jsontext.Kind) func(jsontext.Value) (jsontext.Value, error) {
		switch {
		case kind == '[' && name == "shortNames":
			return func(jsontext.Value) (jsontext.Value, error) { return jsontext.Value("[]"), nil }
		case kind == '[' && name == "categories":
			return fewCategories
		}
		return nil
	})
	return &brief
}

// fewCategories is a list of categories, or survivors.AnyCategory in place of a long one.
func fewCategories(list jsontext.Value) (jsontext.Value, error) {
	var categories []string
	if err := json.Unmarshal(list, &categories); err != nil || len(categories) <= mostCategories {
		return list, err
	}
	return json.Marshal([]string{survivors.AnyCategory})
}
