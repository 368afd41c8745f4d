package desired

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/desired/rights"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// findPrograms notes a program that may make CRDs by itself. Its image, and what is given to it, decide about them.
func (f *follower) findPrograms(object *delivery.Object, u *delivery.Unit) {
	if why, fingerprint := f.program(f.rights(), object, u); why != "" {
		f.cluster.Unseen = append(f.cluster.Unseen, delivery.Unseen{Name: delivery.WithoutHash(kinds.NameOf(object, u)), By: object, Why: why, Runs: true, Fingerprint: fingerprint})
	}
}

// program says why an object runs a program that may make CRDs, and stands for what decides about them. Both are empty if it runs none.
func (f *follower) program(r *rights.Rights, object *delivery.Object, u *delivery.Unit) (why, fingerprint string) {
	if object.IsCRD() || kinds.Delivers(object) || kinds.IsHelmRelease(object) {
		return "", ""
	}
	namespace := namespaceIn(object, u)
	for _, value := range crdschema.Each(object.Object) {
		content, _ := value.(map[string]any)
		if content["containers"] == nil {
			continue
		}
		pod := delivery.Wrap(content)
		containers := pod.Entries("containers")
		if len(containers) == 0 {
			continue
		}
		ends := pod.Text("restartPolicy")
		role, may := r.RoleOf(namespace, accountOf(pod), ends == "Never" || ends == "OnFailure")
		if role == "" {
			continue
		}
		p := f.newFingerprint()
		p.objects[object.Unstructured] = true // what takes from a Secret of its own name does not make it
		p.Write("may", strings.Join(may, "\n"))
		p.Write("runs", fmt.Sprint(object.Field("spec", "replicas") != int64(0)))
		for _, container := range append(pod.Entries("initContainers"), containers...) {
			for _, says := range []string{"image", "command", "args", "env", "envFrom"} {
				p.Write(says, jsonOf(container.Field(says)))
			}
		}
		p.given(namespace, pod)
		return fmt.Sprintf("ClusterRole %s lets it make CRDs, and those that its image %s makes are in no manifest", role, containers[0].Text("image")), p.Sum()
	}
	return "", ""
}

func accountOf(pod *delivery.Object) string {
	for _, field := range []string{"serviceAccountName", "serviceAccount"} { // the second is the older name
		if name := pod.Text(field); name != "" {
			return name
		}
	}
	return "default"
}

// namespaceIn is where an object comes to stand, empty if that is not known.
func namespaceIn(object *delivery.Object, u *delivery.Unit) string {
	namespace, _, found := strings.Cut(kinds.UnitName(object, u), "/")
	if !found {
		return ""
	}
	return namespace
}

// given adds what a program reads: the variables and volumes that ConfigMaps and Secrets hold, and images that are volumes.
func (p *fingerprint) given(namespace string, pod *delivery.Object) {
	for _, value := range crdschema.Each(pod.Object) {
		content, _ := value.(map[string]any)
		from := delivery.Wrap(content)
		for _, field := range []string{"configMap", "configMapRef", "configMapKeyRef"} {
			p.named("ConfigMap", namespace, from.Text(field, "name"))
		}
		for _, field := range []string{"secret", "secretRef", "secretKeyRef"} {
			p.named("Secret", namespace, from.Text(field, "name")+from.Text(field, "secretName"))
		}
	}
	for _, object := range p.cluster.Objects() { // by its name, it may read it from the API
		isIts := object.Is("", "ConfigMap") || object.Is("", "Secret")
		if isIts && (object.GetNamespace() == "" || object.GetNamespace() == namespace) && saysName(pod, object.GetName()) {
			p.object(object)
		}
	}
	for _, volume := range pod.Entries("volumes") {
		p.Write("volume", jsonOf(volume.Field("image")))
	}
}

// saysName reports whether what the containers of a program are given says a name, as a whole.
func saysName(pod *delivery.Object, name string) bool {
	whole := regexp.MustCompile(`(?:^|[^\w.-])` + regexp.QuoteMeta(name) + `(?:$|[^\w.-])`)
	return slices.ContainsFunc(append(pod.Entries("initContainers"), pod.Entries("containers")...), func(c *delivery.Object) bool {
		return slices.ContainsFunc([]string{"command", "args", "env"}, func(field string) bool { return whole.MatchString(jsonOf(c.Field(field))) })
	})
}
