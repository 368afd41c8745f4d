package stage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

// What the example repositories are about.
const (
	// CRD is the CustomResourceDefinition that loses OldVersion in the end.
	CRD = plural + "." + group
	// OldVersion is the version that goes.
	OldVersion = "v1alpha1"
	// NewVersion is the version that stays.
	NewVersion = "v1"
	// Namespace is where the Widget Garden and the VersionRemoval Removal are.
	Namespace = "widgets-system"
	Garden    = "garden"
	Removal   = "widgets-v1alpha1"

	group, plural = "example.com", "widgets"
	widgetKind    = "Widget"
	crdAPI        = "apiextensions.k8s.io/v1"
	crdKind       = "CustomResourceDefinition"
	removalAPI    = "moult.dev/v1alpha1"
	removalKind   = "VersionRemoval"
)

var resource = schema.GroupResource{Group: group, Resource: plural}

// Widgets are objects as they were when they were counted: what there is of each, by its name.
type Widgets map[string]string

// CreateWidgets creates n objects at the old version, beside those of the example, and returns all there are.
func (s *Stage) CreateWidgets(t *testing.T, n int) Widgets {
	t.Helper()
	g := NewWithT(t)
	g.Expect(builders.CreateObjects(t.Context(), s.Config, resource.WithVersion(OldVersion), "default", n,
		builders.Prefix("widget"))).To(Succeed())
	return s.Widgets(t, OldVersion)
}

// Widgets reads all objects at a version: their UIDs, and their sizes but for the garden's, which a commit changes.
func (s *Stage) Widgets(t *testing.T, version string) Widgets {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: widgetKind + "List"})
	NewWithT(t).Eventually(t.Context(), func() error { // a CRD that has just changed may answer 429
		return s.Client.List(t.Context(), list)
	}).WithTimeout(Patience).Should(Succeed())
	widgets := Widgets{}
	for _, item := range list.Items {
		found := string(item.GetUID())
		if size, _, _ := unstructured.NestedInt64(item.Object, "spec", "size"); item.GetName() != Garden {
			found += fmt.Sprintf(" of size %d", size)
		}
		widgets[item.GetNamespace()+"/"+item.GetName()] = found
	}
	return widgets
}

// Stored counts the objects in etcd by the version their bytes are written at.
func (s *Stage) Stored(t *testing.T) map[string]int {
	t.Helper()
	counts, err := s.Etcd().CountByVersion(t.Context(), resource)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return counts
}

// StoredAtOld is a check: etcd holds bytes at the old version.
func (s *Stage) StoredAtOld() story.Check {
	return func(ctx context.Context) (string, bool, error) {
		counts, err := s.Etcd().CountByVersion(ctx, resource)
		return fmt.Sprintf("etcd holds %d at %s, %d at %s", counts[OldVersion], OldVersion, counts[NewVersion], NewVersion), counts[OldVersion] > 0, err
	}
}

// Versions is a check: the CRD has exactly these versions.
func (s *Stage) Versions(wanted ...string) story.Check {
	return s.crdWhere(func(versions, _ []string) bool { return slices.Equal(versions, wanted) })
}

// Trimmed is a check: storedVersions names the new version alone.
func (s *Stage) Trimmed() story.Check { return s.storedVersions(NewVersion) }

func (s *Stage) storedVersions(wanted ...string) story.Check {
	return s.crdWhere(func(_, stored []string) bool { return slices.Equal(stored, wanted) })
}

func (s *Stage) crdWhere(wanted func(versions, stored []string) bool) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		crd, err := cluster.Get(ctx, s.Client, crdAPI, crdKind, "", CRD)
		if apierrors.IsNotFound(err) {
			return "no CRD " + CRD, false, nil
		}
		var versions []string
		list, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, version := range list {
			versions = append(versions, version.(map[string]any)["name"].(string))
		}
		stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
		seen := fmt.Sprintf("the CRD has [%s], storedVersions [%s]", strings.Join(versions, " "), strings.Join(stored, " "))
		return seen, err == nil && wanted(versions, stored), err
	}
}

// Migrated is the status and the message of the CRD's condition StorageMigrated.
func (s *Stage) Migrated(t *testing.T) (status, message string) {
	t.Helper()
	crd, err := cluster.Get(t.Context(), s.Client, crdAPI, crdKind, "", CRD)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return cluster.Condition(crd, "StorageMigrated")
}

// The sizes of the Widget of the example: the second commit changes it.
const (
	SizeBefore = 3
	SizeAfter  = 5
)

// GardenHasSize is a check: the Widget of the example is that large.
func (s *Stage) GardenHasSize(wanted int64) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		garden, err := cluster.Get(ctx, s.Client, group+"/"+NewVersion, widgetKind, Namespace, Garden)
		size, _, _ := unstructured.NestedInt64(garden.Object, "spec", "size")
		return fmt.Sprintf("the garden's size is %d", size), err == nil && size == wanted, client.IgnoreNotFound(err)
	}
}

// All is a check of several at once; what is seen is what each of them sees.
func All(checks ...story.Check) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		var all []string
		every := true
		for _, check := range checks {
			seen, done, err := check(ctx)
			if err != nil {
				return "", false, err
			}
			all, every = append(all, seen), every && done
		}
		return strings.Join(all, "; "), every, nil
	}
}

// Opposite is a check that is done while the other one is not.
func Opposite(check story.Check) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		seen, done, err := check(ctx)
		return seen, !done, err
	}
}
