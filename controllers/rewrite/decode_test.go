package rewrite

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// nested is a widget with a list that has so many levels.
func nested(name string, levels int) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","data":%s%s,"kind":"Widget","metadata":{"annotations":{"a":"\"}]\\"},"name":%q,"namespace":"ns"},"size":7}`,
		strings.Repeat("[", levels), strings.Repeat("]", levels), name)
}

// listing is a client of a server that lists objects in two pages.
func listing(t *testing.T, first, second []string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		items, next := first, "2"
		if r.URL.Query().Get("continue") == "2" {
			items, next = second, ""
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion":"example.com/v1","items":[ %s ],"kind":"WidgetList","metadata":{"continue":%q,"resourceVersion":"7"}}`, strings.Join(items, " , "), next)
	}))
	t.Cleanup(server.Close)
	c, err := NewClient(&rest.Config{Host: server.URL}, server.Client())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

func TestAnObjectThatIsTooDeepForAListIsDecodedAlone(t *testing.T) {
	g := NewWithT(t)
	const alone = 9_999 // levels, and one more for the object
	client := listing(t, []string{nested("flat", 1), nested("deep", alone), `{"metadata":{"name":"bare"}}`}, []string{nested("last", 1)})
	var got []string
	rv, err := client.EachWhole(t.Context(), widgets, clock.RealClock{}, func() {}, func(page []map[string]any, _ int64) error {
		for _, object := range page {
			o := unstructured.Unstructured{Object: object}
			got = append(got, fmt.Sprint(o.GetAPIVersion(), " ", o.GetKind(), " ", o.GetName(), " ", object["size"]))
		}
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rv).To(Equal("7"))
	g.Expect(got).To(Equal([]string{"example.com/v1 Widget flat 7", "example.com/v1 Widget deep 7", "example.com/v1 Widget bare <nil>", "example.com/v1 Widget last 7"}))

	g.Expect(client.TakePage(t.Context(), widgets, metav1.ListOptions{Limit: 3}, 0, func(page *unstructured.UnstructuredList) {
		g.Expect(page.Items).To(HaveLen(3))
	})).To(Succeed())
}

func TestAnObjectThatCannotBeDecodedIsNamed(t *testing.T) {
	g := NewWithT(t)
	client := listing(t, []string{nested("flat", 1), nested("deep", 20_000)}, []string{nested("last", 1), `{"metadata":{"name":"odd"},"size":x}`})
	n := 0
	_, err := client.EachWhole(t.Context(), widgets, clock.RealClock{}, func() {}, func(page []map[string]any, _ int64) error {
		n += len(page)
		return nil
	})
	g.Expect(n).To(Equal(2), "the others come")
	g.Expect(err).To(MatchError(MatchRegexp("^2 objects cannot be decoded: ns/deep: .*exceeded max depth.*; odd: .*")))

	err = client.TakePage(t.Context(), widgets, metav1.ListOptions{Limit: 3}, 0, func(*unstructured.UnstructuredList) {})
	g.Expect(err).To(MatchError(ContainSubstring("ns/deep")))
}

// A conversion webhook may make much of what is stored.
func TestAnObjectThatTakesTooMuchMemoryIsNotDecoded(t *testing.T) {
	g := NewWithT(t)
	large := `{"metadata":{"name":"large","namespace":"ns"},"items":[` + strings.Repeat(`{"a":1},`, 300_000) + `1]}`
	client := listing(t, []string{large}, []string{nested("last", 1)})
	n := 0
	_, err := client.EachWhole(t.Context(), widgets, clock.RealClock{}, func() {}, func(page []map[string]any, _ int64) error {
		n += len(page)
		return nil
	})
	g.Expect(n).To(Equal(1), "the other one comes")
	g.Expect(err).To(MatchError("1 object cannot be decoded: ns/large: it takes 103 MiB when it is decoded, and there is memory for 96"))

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, large) }))
	t.Cleanup(server.Close)
	client, err = NewClient(&rest.Config{Host: server.URL}, server.Client())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(client.TakeWhole(t.Context(), widgets, types.NamespacedName{Namespace: "ns", Name: "large"}, func([]byte) error { return nil })).
		To(MatchError(ContainSubstring("it takes 103 MiB")))
}

func TestAnAnswerThatIsNoListIsNotDecoded(t *testing.T) {
	for _, raw := range []string{``, `{`, `[]`, `{"items":`, `{"items":[{"metadata":{"name":"a"}}`, `{"items":[{}]}`, `{"items":{"a":1}`, `null`, `{"items"}`, `{:}`, `}{`, `{"a`, `{"a\`} {
		_, _, err := decodePage([]byte(raw))
		NewWithT(t).Expect(err).To(HaveOccurred(), raw)
	}
}
