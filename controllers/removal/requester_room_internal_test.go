package removal

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/controllers/rewrite"
)

// Who writes an Application decides how large it is.
func TestAnObjectOfAToolIsDecodedWhenThereIsRoom(t *testing.T) {
	g := NewWithT(t)
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status":{"resources":[{"group":"moult.dev","kind":"VersionRemoval","namespace":"garden","name":"a"}]}}`))
		close(asked)
	}))
	defer server.Close()
	objects, err := rewrite.NewClient(&rest.Config{Host: server.URL}, server.Client())
	g.Expect(err).NotTo(HaveOccurred())
	leave, err := objects.Room(t.Context(), 1<<30) // all of it
	g.Expect(err).NotTo(HaveOccurred())

	found := make(chan bool, 1)
	go func() {
		o, err := tools{one: oneOf(objects)}.get(t.Context(), candidate{application, types.NamespacedName{Namespace: "argocd", Name: "app"}}, types.NamespacedName{Namespace: "garden", Name: "a"})
		if err == nil {
			found <- o.applies
		}
	}()
	<-asked
	g.Consistently(found, 100*time.Millisecond).ShouldNot(Receive())
	leave()
	g.Eventually(found, 10*time.Second).Should(Receive(BeTrue()))
}
