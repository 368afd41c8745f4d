package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/builders"
)

// Of the objects, one of ownedEvery names an owner at the old version, one ConfigMap of helmEvery is a release of Helm's with
// such an object, and one ControllerRevision of stashEvery is an instance type that KubeVirt has stashed at it.
const ownedEvery, helmEvery, stashEvery = 10, 4, 2

const (
	// composites are CRDs of which all objects are read whole, as Crossplane's are.
	composites = 4
	// largeObjects are of the last of them.
	largeObjects = 40
)

// plants are what a cluster is filled with.
type plants struct {
	crds                          []plantedCRD
	configMaps, revisions, larges int
}

// plantedCRD is one of the CRDs; its first version is to go.
type plantedCRD struct {
	*objectSet
	composite bool
}

// planted spreads the objects as they are in clusters: one resource has a fifth of them, ConfigMaps have 4 % and
// ControllerRevisions 3 %; the others have as many each. The first CRD is the one of KubeVirt's instance types.
func planted(objects, crds int) *plants {
	p := &plants{configMaps: objects * 4 / 100, revisions: objects * 3 / 100, larges: min(largeObjects, objects/100)}
	most := objects / 5
	rest := objects - most - p.configMaps - p.revisions - p.larges
	for i := range crds {
		gr := builders.Resource(builders.CRD(fmt.Sprintf("r%02d.survivors.example.com", i), "widgets").Build(), oldest).GroupResource()
		set := &objectSet{gr: gr, kind: "Widget", objects: rest / (crds - 1), stored: newest}
		switch i {
		case 0:
			set.gr.Group, set.gr.Resource, set.kind = "instancetype.kubevirt.io", "virtualmachineinstancetypes", "VirtualMachineInstancetype"
			set.objects += rest % (crds - 1)
		case 1:
			set.objects = most
		}
		p.crds = append(p.crds, plantedCRD{set, i >= crds-composites})
	}
	return p
}

// objects are all.
func (p *plants) objects() int {
	n := p.configMaps + p.revisions + p.larges
	for _, c := range p.crds {
		n += c.objects
	}
	return n
}

// whole are those that have to be read whole.
func (p *plants) whole() int {
	n := every(p.configMaps, helmEvery) + every(p.revisions, stashEvery) + p.larges
	for _, c := range p.crds {
		if c.composite {
			n += c.objects
		}
	}
	return n
}

// names are those of the CRDs.
func (p *plants) names() []string {
	names := make([]string, len(p.crds))
	for i, c := range p.crds {
		names[i] = c.crdName()
	}
	return names
}

// found is how many fields name the old version, by place.
func (p *plants) found() map[string]int64 {
	owned := 0
	for _, c := range p.crds {
		owned += every(c.objects, ownedEvery)
	}
	return map[string]int64{
		"owner-references": int64(owned), "helm-config-maps": int64(every(p.configMaps, helmEvery)),
		"kubevirt-vm-revisions": int64(every(p.revisions, stashEvery)),
	}
}

// every counts the first of n and then one of each so many.
func every(n, many int) int { return (n + many - 1) / many }

// fill creates everything. The large objects have this many bytes.
func (p *plants) fill(ctx context.Context, s *stage, large int) error {
	var installing errgroup.Group
	installing.SetLimit(8)
	for _, c := range p.crds {
		installing.Go(func() error { return builders.Install(ctx, s.cp.Config, c.build()) })
	}
	if err := installing.Wait(); err != nil {
		return err
	}
	payload := max(0, s.size-plain)
	for _, c := range p.crds {
		if err := c.fill(ctx, s, payload); err != nil {
			return fmt.Errorf("%s: %w", c.crdName(), err)
		}
	}
	last := p.crds[len(p.crds)-1].gr.WithVersion(newest)
	if err := builders.CreateObjects(ctx, s.cp.Config, last, namespace, p.larges, builders.Prefix("large"), builders.Each(inParts(large))); err != nil {
		return err
	}
	return p.fillBuiltIn(ctx, s.cp.Config, payload)
}

// samples are how many objects of a CRD are created. The others are copies of these in etcd, which takes a tenth of the time.
const samples = ownedEvery

func (c plantedCRD) fill(ctx context.Context, s *stage, payload int) error {
	if err := builders.CreateObjects(ctx, s.cp.Config, c.gr.WithVersion(newest), namespace, min(samples, c.objects), builders.Payload(payload), builders.Each(c.own)); err != nil {
		return err
	}
	stored, err := s.etcd.Get(ctx, c.prefix(), clientv3.WithPrefix())
	if err != nil {
		return err
	}
	const together = 100 // etcd takes up to 128 writes, and 1.5 MiB
	var workers errgroup.Group
	workers.SetLimit(4)
	for from := len(stored.Kvs); from < c.objects; from += together {
		workers.Go(func() error {
			var puts []clientv3.Op
			for i := from; i < min(c.objects, from+together); i++ {
				key, value := copied(stored.Kvs[i%samples], i)
				puts = append(puts, clientv3.OpPut(key, value))
			}
			_, err := s.etcd.Txn(ctx).Then(puts...).Commit()
			return err
		})
	}
	return workers.Wait()
}

// copied is a stored object with another name, the one that builders.CreateObjects would give it, and a uid of its own.
func copied(from *mvccpb.KeyValue, i int) (key, value string) {
	object := &metav1.PartialObjectMetadata{}
	_ = json.Unmarshal(from.Value, object) // the API server has written it
	name := fmt.Sprintf("object-%05d", i)
	key = strings.TrimSuffix(string(from.Key), object.Name) + name
	return key, strings.NewReplacer(`"`+object.Name+`"`, `"`+name+`"`, string(object.UID), string(uuid.NewUUID())).Replace(string(from.Value))
}

func (c plantedCRD) build() *apiextensionsv1.CustomResourceDefinition {
	crd := builders.CRD(c.gr.Group, c.gr.Resource).Versions(oldest, newest).Build()
	crd.Spec.Names.Kind, crd.Spec.Names.ListKind = c.kind, c.kind+"List"
	if c.composite {
		crd.Spec.Names.Categories = []string{"composite"}
	}
	return crd
}

// own makes the old version of its own CRD the owner of some of the objects.
func (c plantedCRD) own(o *unstructured.Unstructured) {
	if i, _, _ := unstructured.NestedInt64(o.Object, "spec", "size"); i%ownedEvery == 0 {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: c.gr.Group + "/" + oldest, Kind: c.kind, Name: "owner", UID: "1"}})
	}
}

// inParts makes an object of this many bytes, in many small fields.
func inParts(size int) func(*unstructured.Unstructured) {
	const each = 16 // bytes
	parts := make([]any, size/each)
	for i := range parts {
		parts[i] = fmt.Sprintf("part-%08d", i)
	}
	return func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(o.Object, parts, "spec", "parts") // it has a spec
	}
}

// fillBuiltIn creates the ConfigMaps and ControllerRevisions.
func (p *plants) fillBuiltIn(ctx context.Context, config *rest.Config, payload int) error {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	filler := strings.Repeat("x", payload)
	var workers errgroup.Group
	workers.SetLimit(16)
	for i := range p.configMaps {
		workers.Go(func() error {
			_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, p.configMap(i, filler), metav1.CreateOptions{})
			return err
		})
	}
	for i := range p.revisions {
		workers.Go(func() error {
			_, err := client.AppsV1().ControllerRevisions(namespace).Create(ctx, p.revision(i, filler), metav1.CreateOptions{})
			return err
		})
	}
	return workers.Wait()
}

func (p *plants) configMap(i int, filler string) *corev1.ConfigMap {
	if i%helmEvery != 0 {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("plain-%05d", i)}, Data: map[string]string{"payload": filler}}
	}
	manifest := fmt.Sprintf("---\napiVersion: %s/%s\nkind: %s\nmetadata: {name: rose}\nspec: {payload: %s}\n", p.crds[1].gr.Group, oldest, p.crds[1].kind, filler)
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("sh.helm.release.v1.rose-%05d.v1", i), Labels: map[string]string{"owner": "helm", "status": "deployed"}},
		Data:       map[string]string{"release": asHelm(manifest)},
	}
}

// asHelm packs a manifest as Helm packs a release.
func asHelm(manifest string) string {
	raw, _ := json.Marshal(map[string]string{"name": "rose", "manifest": manifest}) // texts
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write(raw) // into memory
	_ = writer.Close()
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

func (p *plants) revision(i int, filler string) *appsv1.ControllerRevision {
	r := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("revision-%05d", i)},
		Data:       runtime.RawExtension{Raw: fmt.Appendf(nil, `{"spec":{"template":{"payload":%q}}}`, filler)},
	}
	if i%stashEvery == 0 {
		r.Labels = map[string]string{"instancetype.kubevirt.io/object-version": oldest, "instancetype.kubevirt.io/object-kind": p.crds[0].kind}
		r.Data.Raw = fmt.Appendf(nil, `{"apiVersion":"%s/%s","kind":%q,"metadata":{"name":"m4"},"spec":{"payload":%q}}`, p.crds[0].gr.Group, oldest, p.crds[0].kind, filler)
	}
	return r
}
