package embeddedcopies

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/unpacking"
)

// survey is what one look at the cluster shows of a move.
type survey struct {
	*moving
	// stashes are the old copies, and exists all objects that lie beside them, by name: the resourceVersions at which they are listed.
	stashes []*stash
	exists  map[types.NamespacedName][]string
	// unpacked is what annotations may have unpacked.
	unpacked *unpacking.Look
	// names are the objects that name others, by the name that they name.
	names map[types.NamespacedName][]referrer
	// busy is what goes on in a namespace.
	busy map[string]string
	// mover says why a controller of the project moves its own copies; empty if it does not.
	mover string
	// unknown is true if not all that can name an object could be read: nothing may be deleted then.
	unknown bool
	// fresh is until when objects may be deleted by it.
	fresh time.Time
}

// stash is an object with an old copy, or with one that cannot be read.
type stash struct {
	repairs.Listed

	uid      types.UID
	place    *survivors.Place
	reported repairs.Item
	// owned is true if the project's controller cares for it.
	owned bool
	// problem says why the copy cannot be read.
	problem error
}

// referrer is an object that names another.
type referrer struct {
	repairs.Listed

	field *survivors.NameField
}

func (r referrer) String() string {
	return repairs.Object{Resource: r.At.GroupResource().String(), Namespace: r.Key.Namespace, Name: r.Key.Name}.String()
}

// survey lists the copies first, then the work that goes on, then what names them. A copy that was there at first and
// is not part of that work is named by then, or never will be.
func (m *Migration) survey(ctx context.Context, move *moving) (*survey, error) {
	s := &survey{moving: move, exists: map[types.NamespacedName][]string{}, names: map[types.NamespacedName][]referrer{}, busy: map[string]string{}, unpacked: unpacking.NewLook()}
	began := m.Clock.Now()
	steps := []func(context.Context, *survey) error{m.listStashes, m.listBusy, m.listMover, m.listReferences}
	m.missing(s)
	for _, step := range steps {
		if err := step(ctx, s); err != nil {
			return nil, err
		}
	}
	now := m.Clock.Now()
	s.fresh = now.Add(max(freshFor, now.Sub(began)))
	return s, nil
}

// missing notes resources that somebody's own place says name the copies, and that the cluster does not have: a name may be misspelt.
// Of those that Moult brings it is known that not every cluster has them.
func (m *Migration) missing(s *survey) {
	if !slices.ContainsFunc(s.places, func(p *survivors.Place) bool { return p.MoveBy != nil }) {
		return
	}
	for i := range s.References {
		gr := schema.ParseGroupResource(s.References[i].Resource)
		if !slices.ContainsFunc(m.Resources, func(r schema.GroupVersionResource) bool { return r.GroupResource() == gr }) {
			m.CannotLook(gr.String(), "the cluster has no such resource; is it misspelt in the place?")
			s.unknown = true
		}
	}
}

// list lists a resource, if there is one. known is false if it could not be read.
func (m *Migration) list(ctx context.Context, resource string, take func(schema.GroupVersionResource, *unstructured.Unstructured)) (known bool, err error) {
	gr := schema.ParseGroupResource(resource)
	at := slices.IndexFunc(m.Resources, func(r schema.GroupVersionResource) bool { return r.GroupResource() == gr })
	if at < 0 {
		if why, unseen := m.Unseen[gr.Group]; unseen {
			m.CannotLook(resource, why)
			return false, nil
		}
		return true, nil
	}
	why, err := m.Lister.EachObject(ctx, m.Resources[at], func(item *unstructured.Unstructured) { take(m.Resources[at], item) })
	return m.Listed(ctx, resource, why, err)
}

func listed(at schema.GroupVersionResource, item *unstructured.Unstructured) repairs.Listed {
	return repairs.Listed{At: at, Key: keyOf(item), ResourceVersion: item.GetResourceVersion()}
}

func keyOf(item *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: item.GetNamespace(), Name: item.GetName()}
}

func (m *Migration) listStashes(ctx context.Context, s *survey) error {
	var resources []string
	for _, p := range s.places {
		for _, selector := range p.Resources {
			if !slices.Contains(resources, string(selector)) {
				resources = append(resources, string(selector))
			}
		}
	}
	for _, resource := range resources {
		if _, err := m.list(ctx, resource, func(at schema.GroupVersionResource, item *unstructured.Unstructured) { m.see(s, at, item) }); err != nil {
			return err
		}
	}
	return nil
}

// see keeps an object if its copy is an old one, or cannot be read. Two may be listed by one name: the key in etcd of one is not that of
// its name.
func (m *Migration) see(s *survey, at schema.GroupVersionResource, item *unstructured.Unstructured) {
	is := listed(at, item)
	if slices.Contains(s.exists[is.Key], is.ResourceVersion) {
		return // a list that was taken again
	}
	s.exists[is.Key] = append(s.exists[is.Key], is.ResourceVersion)
	if err := m.removed.learn(at, item, s.unpacked.Object(unpacking.SizeOf(item.Object))); err != nil {
		m.leaveAt(s, repairs.ObjectOf(at, item), NotKnown, "what it has replaced is not known: "+err.Error())
	}
	r := survivors.Resource{GroupResource: at.GroupResource()}
	for _, p := range s.places {
		if !p.In(r) || !p.Applies(item.Object) {
			continue
		}
		one := &stash{Listed: is, uid: item.GetUID(), place: p, owned: s.Controller != nil && s.Controller.Owned(item.Object)}
		one.reported = repairs.Item{Place: p.Name, Object: repairs.ObjectOf(at, item)}
		c, err := s.ReadCopy(p.Groups[0], item.Object)
		if err != nil {
			if kind, version := p.Labelled(item.GetLabels()); kind != "" && version != "" && m.target(p.Groups[0], kind, version) == nil {
				return
			}
			one.problem = err
			s.stashes = append(s.stashes, one)
			return
		}
		if target := m.target(p.Groups[0], c.Kind, c.Version); target != nil {
			one.reported.CRD, one.reported.Copy, one.reported.From = target.CRD, strings.TrimSpace(c.Kind+" "+c.Name), c.Version
			s.stashes = append(s.stashes, one)
		}
		return
	}
}

// leaveAt counts an object that was not read as a copy.
func (m *Migration) leaveAt(s *survey, o repairs.Object, reason repairs.Reason, why string) {
	m.Leave(reason, "", repairs.Item{Place: s.places[0].Name, Object: o, Referrers: int64(len(s.names[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}])), Why: why})
}

func (m *Migration) listBusy(ctx context.Context, s *survey) error {
	for i := range s.Busy {
		work := &s.Busy[i]
		known, err := m.list(ctx, work.Resource, func(_ schema.GroupVersionResource, item *unstructured.Unstructured) {
			if !work.Done(item.Object) {
				s.busy[item.GetNamespace()] = fmt.Sprintf("%s %s/%s is not done", work.Resource, item.GetNamespace(), item.GetName())
			}
		})
		if err != nil {
			return err
		}
		s.unknown = s.unknown || !known
	}
	return nil
}

// listMover finds out whether a controller of the project moves copies.
func (m *Migration) listMover(ctx context.Context, s *survey) error {
	if s.Controller == nil {
		return nil
	}
	known, err := m.list(ctx, s.Controller.Resource, func(_ schema.GroupVersionResource, item *unstructured.Unstructured) {
		version := s.Controller.Version(item.Object)
		if moves(s.Controller, version) {
			s.mover = fmt.Sprintf("%s of %s moves it by itself", s.Controller.Name, strings.TrimSpace(item.GetKind()+" "+version))
		}
	})
	if err == nil && !known {
		s.mover = fmt.Sprintf("whether %s moves it by itself is not known", s.Controller.Name)
	}
	return err
}

// moves reports whether a version of the project does it. One that cannot be read may.
func moves(c *survivors.Mover, version string) bool {
	v, err := semver.NewVersion(version)
	if err != nil {
		return true
	}
	core := semver.New(v.Major(), v.Minor(), v.Patch(), "", "")
	return !core.LessThan(semver.MustParse(c.Since)) && core.LessThan(semver.MustParse(c.Until))
}

func (m *Migration) listReferences(ctx context.Context, s *survey) error {
	for i := range s.References {
		f := &s.References[i]
		seen := map[naming]bool{} // a list may be taken again
		known, err := m.list(ctx, f.Resource, func(at schema.GroupVersionResource, item *unstructured.Unstructured) {
			r := referrer{listed(at, item), f}
			if !f.In(r.Key.Name) {
				return
			}
			for _, n := range f.Read(item.Object) {
				if r.Key.Namespace == "" {
					m.CannotLook(f.Resource, "it has no namespace, so it is not known which copies it names")
					s.unknown = true
				}
				of := types.NamespacedName{Namespace: r.Key.Namespace, Name: n.Name}
				if !seen[naming{r, of}] {
					seen[naming{r, of}] = true
					s.names[of] = append(s.names[of], r)
				}
			}
		})
		if err != nil {
			return err
		}
		s.unknown = s.unknown || !known
	}
	return nil
}
