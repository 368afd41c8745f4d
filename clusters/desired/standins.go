package desired

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/argocd"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/words"
)

// A standIn is an Application for a cluster that is not known. Where it depends on the cluster which folder it is of, or which file of
// values it takes, there is one for each that is in the repository.
type standIn struct {
	*delivery.Object

	// name is what it is called, with what it depends on the cluster for.
	name string
	// files are all that a file of values may be.
	files []string
}

// openError is for what depends on the cluster and cannot be compared for each.
type openError struct{ what string }

// Error implements error.
func (e *openError) Error() string {
	return fmt.Sprintf("%s, and %s depends on it; name their Secrets with --cluster-secrets", appset.NotKnown, e.what)
}

// NeedStandIns are the ApplicationSets of unknown clusters that are not the same before and after. It is compared what these may apply.
func NeedStandIns(base, head *delivery.Cluster) (names []string) {
	for name, all := range differing(base, head) {
		if slices.ContainsFunc(all, func(u *delivery.Unseen) bool { return u.Why == appset.ErrClusters.Error() }) {
			names = append(names, name)
		}
	}
	return names
}

// standingIn are the units of a set for clusters that are not known. Which clusters it selects decides what each of these gets.
func (f *follower) standingIn(ctx context.Context, p pointer) (units []*delivery.Unit, err error) {
	applications, err := appset.StandIns(p.by, f.tree)
	if err != nil {
		return nil, err
	}
	all, err := f.standIns(p, applications)
	for _, one := range all {
		unit := f.unitOf(ctx, p, pointer{by: madeBy(p.by, one.Object), parent: p.parent, called: one.name})
		if unit.Err != nil {
			return nil, &openError{"what cannot be built of " + one.name}
		}
		unit.StandsIn = true
		addInput(unit, "which clusters "+kinds.NameOf(p.by, p.parent)+" selects", jsonOf(p.by.Field("spec", "generators")))
		addInput(unit, "which files of values "+unit.Name+" may have", strings.Join(one.files, " "))
		units = append(units, unit)
	}
	f.seen[f.key(p)] = err == nil
	return units, err
}

// standIns are what Applications with open parts may become in a cluster. The error names what of them may reach a CRD otherwise than by
// a folder or a file of values.
func (f *follower) standIns(p pointer, applications []*delivery.Object) (all []standIn, err error) {
	named := map[string]int{}
	for _, application := range applications {
		if f.isElsewhere(p, application) {
			return nil, &openError{"what it takes from another repository, or from a tag,"}
		}
		variants := []standIn{{Object: application, name: application.GetName()}}
		for i := range delivery.SourcesOf(application) {
			if variants, err = f.ofEachFolder(p, variants, i); err != nil {
				return nil, err
			}
		}
		for i := range delivery.SourcesOf(application) {
			if variants, err = f.withEachFile(p.by, variants, i); err != nil {
				return nil, err
			}
		}
		for _, one := range variants {
			if named[one.name]++; named[one.name] > 1 {
				one.name = fmt.Sprintf("%s (%d)", one.name, named[one.name])
			}
			one.close()
			all = append(all, one)
		}
	}
	return all, nil
}

// close gives what Helm needs as a name, which no CRD depends on, a text without braces.
func (s *standIn) close() {
	s.SetName(appset.WithoutOpen(s.GetName()))
	if namespace := s.Text("spec", "destination", "namespace"); appset.IsOpen(namespace) {
		s.Field("spec", "destination").(map[string]any)["namespace"] = appset.WithoutOpen(namespace)
	}
	for _, source := range delivery.SourcesOf(s.Object) {
		helm, _ := source.Settings.Field("helm").(map[string]any)
		if appset.IsOpen(helm["releaseName"]) {
			helm["releaseName"] = appset.WithoutOpen(source.Settings.Text("helm", "releaseName"))
		}
		if files, is := helm["valueFiles"].([]any); is {
			helm["valueFiles"] = slices.DeleteFunc(files, func(file any) bool { return file == "" })
		}
	}
}

// with is the same with something put in, which its name says.
func (s standIn) with(says string, source int, put func(settings map[string]any)) standIn {
	s.Object = delivery.Wrap(runtime.DeepCopyJSON(s.Object.Object))
	put(delivery.SourcesOf(s.Object)[source].Settings.Object)
	s.name = strings.TrimSuffix(s.name, ")") + map[bool]string{true: ", ", false: " ("}[strings.HasSuffix(s.name, ")")] + says + ")"
	return s
}

// ofEachFolder puts in each folder that the path of a source may become.
func (f *follower) ofEachFolder(p pointer, variants []standIn, source int) ([]standIn, error) {
	of := delivery.SourcesOf(variants[0].Object)[source]
	rest := runtime.DeepCopyJSON(of.Settings.Object)
	delete(rest, "path")
	if helm, is := rest["helm"].(map[string]any); is {
		delete(helm, "valueFiles")
		delete(helm, "releaseName")
	}
	for _, field := range slices.Sorted(maps.Keys(rest)) {
		if appset.IsOpen(rest[field]) {
			return nil, &openError{"the " + field + " of a source"}
		}
	}
	if !appset.IsOpen(of.Path) {
		return variants, nil
	}
	folders := appset.FoldersLike(p.by, of.Path, slices.Concat(f.tree.Folders(), f.tree.LinkedFolders()))
	if !appset.IsPlain(of.Path) || len(folders) == 0 || len(folders)*len(variants) > mostFolders || slices.ContainsFunc(folders, f.isOverridden) {
		return nil, &openError{"the path " + of.Path}
	}
	var more []standIn
	for _, one := range variants {
		for _, folder := range folders {
			more = append(more, one.with(folder, source, func(settings map[string]any) { settings["path"] = folder }))
		}
	}
	return more, nil
}

// isElsewhere reports whether an Application takes a folder or a file from another repository, or from a tag if it depends on the cluster which it is.
func (f *follower) isElsewhere(p pointer, application *delivery.Object) bool {
	var around []*delivery.Object
	if p.parent != nil {
		around = p.parent.Objects
	}
	sources := delivery.SourcesOf(application)
	depends := slices.ContainsFunc(sources, func(s delivery.Source) bool {
		return appset.IsOpen(s.Path) || appset.IsOpen(s.Settings.Field("helm", "valueFiles"))
	})
	return slices.ContainsFunc(sources, func(s delivery.Source) bool {
		isChart := s.Settings.Text("chart") != "" || argocd.IsArtifact(s.Settings)
		isPinned := argocd.TagOrCommit(s.Settings.Text("targetRevision")) != ""
		return !isChart && (f.isOther(addressOf(s), around) || depends && (isPinned || argocd.Elsewhere(&delivery.Unit{Parent: p.parent}, s.Settings) != ""))
	})
}

// isOverridden reports whether a folder has settings for Applications, by their names.
func (f *follower) isOverridden(folder string) bool {
	found, _ := filepath.Glob(filepath.Join(f.tree.Absolute(folder), ".argocd-source*"))
	return len(found) > 0
}

// withEachFile puts in each file that the files of values of a source may become.
func (f *follower) withEachFile(set *delivery.Object, variants []standIn, source int) ([]standIn, error) {
	for i, file := range delivery.SourcesOf(variants[0].Object)[source].Settings.Texts("helm", "valueFiles") {
		if !appset.IsOpen(file) {
			continue
		}
		var more []standIn
		for _, one := range variants {
			settings := delivery.SourcesOf(one.Object)[source].Settings
			files, err := f.filesLike(set, settings, file)
			canBeMissing := settings.True("helm", "ignoreMissingValueFiles")
			if err != nil || len(files) == 0 && !canBeMissing || len(more)+len(files) > mostFolders {
				return nil, &openError{"the file of values " + file}
			}
			one.files = append(one.files, files...)
			if canBeMissing {
				files = append(files, "")
			}
			for _, found := range files {
				more = append(more, one.with(cmp.Or(found, "without "+file), source, func(settings map[string]any) {
					list := settings["helm"].(map[string]any)["valueFiles"].([]any)
					list[i] = found
				}))
			}
		}
		variants = more
	}
	return variants, nil
}

// filesLike are the files of this repository that an entry of valueFiles may become, as such entries.
func (f *follower) filesLike(set, source *delivery.Object, entry string) ([]string, error) {
	prefix, inside := "/", strings.TrimPrefix(entry, "/")
	reference, rest, isLent := strings.Cut(entry, "/")
	switch {
	case !appset.IsPlain(entry), strings.ContainsAny(entry, "*?["), strings.Contains(entry, "://"):
		return nil, fmt.Errorf("%s is more than a name", entry)
	case isLent && strings.HasPrefix(reference, "$"):
		prefix, inside = reference+"/", rest
	case strings.HasPrefix(entry, "/"):
	case source.Text("chart") != "":
		return nil, fmt.Errorf("%s is in a chart of a registry", entry)
	default:
		inside = path.Join(source.Text("path"), entry)
	}
	all, err := f.allFiles()
	return words.Of(appset.FoldersLike(set, inside, all), func(file string) string { return prefix + file }), err
}

// allFiles are the files of the tree, from its root.
func (f *follower) allFiles() ([]string, error) {
	if f.listed != nil {
		return f.listed, nil
	}
	err := f.tree.Each(f.tree.Root, func(name string) bool { return name == ".git" }, func(file string) error {
		f.listed = append(f.listed, f.tree.Relative(file))
		return nil
	})
	return f.listed, err
}
