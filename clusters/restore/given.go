package restore

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

// givenFor are the objects of a CRD that somebody has converted, by namespace and name. The error says which one cannot be used.
func (r *restorer) givenFor(crd *apiextensionsv1.CustomResourceDefinition) (map[types.NamespacedName]*unstructured.Unstructured, error) {
	given := map[types.NamespacedName]*unstructured.Unstructured{}
	for i := range r.Converted {
		object := &r.Converted[i]
		gvk := object.GroupVersionKind()
		if !isOf(object, crd) {
			continue
		}
		key := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
		problem := ""
		switch namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped; {
		case !apihelpers.HasServedCRDVersion(crd, gvk.Version):
			problem = fmt.Sprintf("is at %s, and the cluster serves %s", gvk.Version, strings.Join(crds.Served(crd), ", "))
		case key.Name == "":
			problem = "has no name"
		case namespaced && key.Namespace == "":
			problem = "has no namespace; build the manifests as your tool does, for example with kustomize build, and give what that prints"
		case given[key] != nil:
			problem = "is there twice"
		}
		if problem != "" {
			return nil, fmt.Errorf("--converted: %s %s %s", gvk.Kind, strings.TrimPrefix(key.String(), "/"), problem)
		}
		given[key] = object
	}
	return given, nil
}

// isOf reports whether an object of the files is one of a CRD.
func isOf(object *unstructured.Unstructured, crd *apiextensionsv1.CustomResourceDefinition) bool {
	gvk := object.GroupVersionKind()
	return gvk.Group == crd.Spec.Group && gvk.Kind == crd.Spec.Names.Kind
}

// filesOf are the objects of a CRD that the files have.
func (r *restorer) filesOf(crd *apiextensionsv1.CustomResourceDefinition) map[types.NamespacedName]bool {
	files := map[types.NamespacedName]bool{}
	for i := range r.Converted {
		if object := &r.Converted[i]; isOf(object, crd) {
			files[types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}] = true
		}
	}
	return files
}

// replaced is an object as somebody has converted it. Who owns it, its labels and annotations are those of the backup.
func (t *target) replaced(from *chosen, given *unstructured.Unstructured) (*chosen, error) {
	to := &chosen{object: given.DeepCopy(), version: given.GroupVersionKind().Version, given: true}
	to.object.Object["metadata"] = from.object.DeepCopy().Object["metadata"]
	was := from.object
	if !t.hooked {
		var err error
		if was, err = t.carried(from, to.version); err != nil {
			return nil, err
		}
	}
	v := t.now[to.version]
	change := crdschema.ChangeOf(was.Object, to.object.Object)
	to.other = t.names(slices.DeleteFunc(append(t.telling(from, change.Lost), change.Changed...), func(path crdschema.Path) bool {
		known := v.Schema == nil || crdschema.SchemaAt(v.Schema, path) != nil // else the webhook has put it elsewhere
		return path[0] == "metadata" || path[0] == "status" || path[0] == "apiVersion" || !known
	}))
	return to, nil
}

// noteGiven names what is not as in the backup of an object that somebody has converted. Without a webhook, it is known what the
// conversion would have been.
func (w *write) noteGiven() {
	if !w.chosen.given {
		return
	}
	var why []string
	if w.result.Why != "" {
		why = append(why, w.result.Why)
	}
	if w.result.Outcome == Created {
		why = append(why, "the cluster did not have it, and it is made from the file")
	}
	if len(w.chosen.other) > 0 {
		why = append(why, "the file has other values than the backup")
		w.result.Paths = words.Distinct(append(w.result.Paths, w.chosen.other...))
		if !w.target.hooked {
			w.notKept = append(w.notKept, w.chosen.other...)
		}
	}
	w.result.Why = strings.Join(why, "; ")
}

// unmatched reports objects of the files that are not used. Those that are none of the backup are refused. Others are not needed, as
// the cluster serves a version that the backup has, or belong to no CRD that is restored.
func (r *restorer) unmatched() {
	for i := range r.Converted {
		object := &r.Converted[i]
		key := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
		name := strings.TrimPrefix(key.String(), "/")
		at := slices.IndexFunc(r.backup.CRDs, func(of archive.CRDReport) bool { t := r.targets[of.Name]; return t != nil && isOf(object, t.was) })
		if at < 0 {
			r.tally.report.OtherKinds = append(r.tally.report.OtherKinds, object.GetKind()+" "+name)
			continue
		}
		of := &r.backup.CRDs[at]
		t := r.targets[of.Name]
		_, met := t.met.Load(key)
		met = met || slices.ContainsFunc(of.Missing, func(m archive.Missing) bool { return m.Object == name })
		switch {
		case t.needed != "":
		case !met:
			r.tally.add(of.Name, Result{Object: name, Outcome: NotInBackup, Why: "the files have it, and the backup does not; apply it with its own tool"}, false, false)
		case t.given == nil:
			r.tally.byName[of.Name].Needless++
		}
	}
}
