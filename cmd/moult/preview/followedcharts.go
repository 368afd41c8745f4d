package preview

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/argocd"
	names "github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/scan"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/preview"
)

// withoutFollowed leaves out Applications in templates of charts whose own charts are entry points: with each file of values beside
// them, more is seen of these. It leaves out those that do not change themselves. Of a template, only its text is known here.
func (s *sides) withoutFollowed(whole *preview.Pair) error {
	before, after := s.base.inTemplates(whole.Base), s.head.inTemplates(whole.Head)
	if len(before) == 0 || len(after) == 0 {
		return nil
	}
	entries, err := s.wiring(nil, scan.Wiring)
	if err != nil {
		return err
	}
	isFollowed := func(source delivery.Source) bool {
		return hasValuesBeside(source.Settings) && slices.ContainsFunc(entries, func(entry string) bool {
			folder, values := helm.ValuesOf(entry)
			return folder == strings.Trim(source.Path, "/") && len(values) > 0
		})
	}
	leave := func(u delivery.Unseen) bool {
		was, is := before[u.Name], after[u.Name]
		return was != nil && is != nil && reflect.DeepEqual(was.Object, is.Object) && !s.base.overrides(is) && !s.head.overrides(is) &&
			!slices.ContainsFunc(delivery.SourcesOf(is), func(source delivery.Source) bool { return !isFollowed(source) })
	}
	for _, c := range []*delivery.Cluster{&whole.Base, &whole.Head} {
		c.Unseen = slices.DeleteFunc(slices.Clone(c.Unseen), leave)
	}
	return nil
}

// overrides reports whether files beside the charts of an Application change what it takes. Its paths have to begin where entry points do.
func (s side) overrides(application *delivery.Object) bool {
	return s.tree.Dir != s.tree.Root || slices.ContainsFunc(delivery.SourcesOf(application), func(source delivery.Source) bool {
		return len(argocd.Overrides(&delivery.Unit{By: application}, filepath.Join(s.tree.Root, filepath.FromSlash(source.Path)))) > 0
	})
}

// hasValuesBeside reports whether a source takes no more than the chart's own values and one file of those that it is followed with.
func hasValuesBeside(source *delivery.Object) bool {
	others := slices.DeleteFunc(source.Texts("helm", "valueFiles"), func(file string) bool { return file == "values.yaml" })
	return len(others) <= 1 && len(source.Entries("helm", "fileParameters")) == 0 &&
		!slices.ContainsFunc(others, func(file string) bool { return strings.ContainsAny(file, "/*?[") || !scan.IsValues(file) })
}

// inTemplates are the Applications among what is not seen that are templates of charts, by their names; nil for several of one name.
func (s side) inTemplates(c delivery.Cluster) map[string]*delivery.Object {
	found := map[string]*delivery.Object{}
	for _, u := range c.Unseen {
		if !u.By.Is("argoproj.io", "Application") {
			continue
		}
		_, again := found[u.Name]
		found[u.Name] = nil
		if file := u.By.Place().File; !again && file != "" && names.IsTemplateOfChart(filepath.Join(s.tree.Root, filepath.FromSlash(file))) {
			found[u.Name] = u.By
		}
	}
	return found
}
