package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	"github.com/moult-dev/moult/test/bench/wire"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
)

const (
	oldest, newest = "v1alpha1", "v1"
	// namespace holds the objects to be migrated.
	namespace = "default"
	// plain is about how much of a stored object is not payload.
	plain = 650
)

// stage is the one control plane that everything happens on, and the CRDs on it.
type stage struct {
	cp   *controlplane.ControlPlane
	etcd *clientv3.Client
	crds apiextensions.CustomResourceDefinitionInterface
	dir  string // kubeconfigs and logs
	size int    // bytes of a stored object
	sets map[int]*objectSet
	// moult and controllerManager are binaries.
	moult, controllerManager string

	say func(format string, args ...any)
}

// objectSet is a CRD with a number of objects, which go back and forth between its two versions: each contender finds
// all of them stored at the one and takes them to the other.
type objectSet struct {
	gr      schema.GroupResource
	kind    string
	objects int
	stored  string // version
}

func (s *objectSet) prefix() string  { return "/registry/" + s.gr.Group + "/" + s.gr.Resource + "/" }
func (s *objectSet) crdName() string { return s.gr.String() }
func (s *objectSet) crdKey() string {
	return "/registry/apiextensions.k8s.io/customresourcedefinitions/" + s.crdName()
}

// other is the version that the objects are to be taken to.
func (s *objectSet) other() string {
	if s.stored == newest {
		return oldest
	}
	return newest
}

// newStage starts the control plane. The in-tree migrator needs a feature gate of the API server, so all contenders
// have it.
func newStage(size int, log io.Writer) (*stage, error) {
	cp, err := controlplane.Start(
		controlplane.Flag("feature-gates", "StorageVersionMigrator=true"),
		controlplane.Flag("runtime-config", "storagemigration.k8s.io/v1beta1=true"),
	)
	if err != nil {
		return nil, err
	}
	s := &stage{cp: cp, size: size, sets: map[int]*objectSet{}, say: func(format string, args ...any) { fmt.Fprintf(log, format+"\n", args...) }}
	if err := s.prepare(); err != nil {
		_ = s.close()
		return nil, err
	}
	return s, nil
}

func (s *stage) prepare() error {
	var err error
	if s.dir, err = os.MkdirTemp("", "moult-bench-"); err != nil {
		return err
	}
	client, err := apiextensions.NewForConfig(s.cp.Config)
	if err != nil {
		return err
	}
	s.crds = client.CustomResourceDefinitions()
	s.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{s.cp.Etcd().Endpoint}, Logger: zap.NewNop()})
	return err
}

func (s *stage) close() error {
	if s.etcd != nil {
		_ = s.etcd.Close()
	}
	_ = os.RemoveAll(s.dir)
	return s.cp.Stop()
}

// set returns the CRD that has this many objects, and makes it first if there is none.
func (s *stage) set(ctx context.Context, objects int) (*objectSet, error) {
	if found := s.sets[objects]; found != nil {
		return found, nil
	}
	made, err := s.newSet(ctx, fmt.Sprintf("n%d.bench.example.com", objects), objects)
	if err == nil {
		s.sets[objects] = made
	}
	return made, err
}

func (s *stage) newSet(ctx context.Context, group string, objects int) (*objectSet, error) {
	crd := builders.CRD(group, "widgets").Versions(oldest, newest).Storage(oldest).WithStatus().Build()
	if err := builders.Install(ctx, s.cp.Config, crd); err != nil {
		return nil, err
	}
	set := &objectSet{gr: schema.GroupResource{Group: group, Resource: "widgets"}, kind: crd.Spec.Names.Kind, objects: objects, stored: oldest}
	payload := builders.Payload(max(0, s.size-plain))
	return set, builders.CreateObjects(ctx, s.cp.Config, set.gr.WithVersion(oldest), namespace, objects, payload)
}

// flip makes the other version the storage version and returns it. change may change the CRD in the same write.
func (s *stage) flip(ctx context.Context, set *objectSet, change func(*apiextensionsv1.CustomResourceDefinition)) (string, error) {
	target := set.other()
	return target, builders.Update(ctx, s.cp.Config, set.crdName(), func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == target
		}
		if change != nil {
			change(crd)
		}
	})
}

// settle brings the set into the state that the next contender finds: every object stored at the version, which is the
// storage version, and storedVersions naming nothing else. It does what a contender left undone.
func (s *stage) settle(ctx context.Context, set *objectSet, version string) error {
	stale, err := s.cp.Etcd().Stale(ctx, set.gr, version)
	if err != nil {
		return err
	}
	if len(stale) > 0 {
		names := make([]string, len(stale))
		for i, key := range stale {
			names[i] = key[len(namespace)+1:]
		}
		if err := patchAll(ctx, s.cp.Config, set.gr.WithVersion(version), names, 16); err != nil {
			return fmt.Errorf("rewriting what was left stale: %w", err)
		}
	}
	set.stored = version
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := s.crds.Get(ctx, set.crdName(), metav1.GetOptions{})
		if err != nil || slices.Equal(crd.Status.StoredVersions, []string{version}) {
			return err
		}
		crd.Status.StoredVersions = []string{version}
		_, err = s.crds.UpdateStatus(ctx, crd, metav1.UpdateOptions{})
		return err
	})
}

// proxy is a way to the API server that takes this much longer, and the kubeconfig that leads there.
func (s *stage) proxy(roundTrip time.Duration) (*wire.Proxy, string, error) {
	server, err := url.Parse(s.cp.Config.Host)
	if err != nil {
		return nil, "", err
	}
	proxy, err := wire.Start(server.Host, roundTrip)
	if err != nil {
		return nil, "", err
	}
	content, err := s.cp.KubeConfig()
	if err != nil {
		return nil, "", err
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return nil, "", err
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + proxy.Addr()
	}
	_, port, err := net.SplitHostPort(proxy.Addr())
	if err != nil {
		return nil, "", err
	}
	file := filepath.Join(s.dir, "kubeconfig-"+port)
	return proxy, file, clientcmd.WriteToFile(*config, file)
}

// warm has the API server build its handlers and its watch cache of a CRD anew. The first request after a flip does
// that, whoever asks, and in a real cluster it is the operator's watch, a moment after the flip.
func (s *stage) warm(ctx context.Context, resource schema.GroupVersionResource) error {
	client, err := metadata.NewForConfig(s.cp.Config)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		_, err = client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0", Limit: 1}) // from the cache
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
