package releases

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/deprecation"
	"github.com/moult-dev/moult/policies/words"
)

// numbered is a tag that is a release.
type numbered struct {
	repository.Tag
	number *semver.Version
}

// choose finds the tags to be read, in the order of their numbers.
func (r *reader) choose() ([]repository.Tag, error) {
	tags, err := r.history.Tags()
	if err != nil {
		return nil, err
	}
	if _, err := path.Match(r.Tags, ""); err != nil {
		return nil, fmt.Errorf("--tags %s: %w", r.Tags, err)
	}
	var all []numbered
	for _, tag := range tags {
		if number := deprecation.NumberOf(tag.Name); number != nil && r.wants(tag.Name) && (r.PreReleases || number.Prerelease() == "") {
			all = append(all, numbered{tag, number})
		}
	}
	slices.SortStableFunc(all, func(a, b numbered) int { return a.number.Compare(b.number) })
	all = slices.CompactFunc(all, func(next, kept numbered) bool {
		same := next.number.Equal(kept.number)
		if same {
			r.note("%s was left out: %s has the same number", next.Name, kept.Name)
		}
		return same
	})
	if len(all) == 0 {
		return nil, r.noTags(len(tags))
	}
	if all, err = r.since(all); err != nil {
		return nil, err
	}
	if !r.Patches {
		kept := firstOfMinors(all)
		if n := len(all) - len(kept); n > 0 {
			r.note("%s left out; --patches reads them", words.Count(n, "patch release")+" "+words.Agree(n, "was", "were"))
		}
		all = kept
	}
	if r.Last > 0 && len(all) > r.Last {
		all, r.source.Earlier = all[len(all)-r.Last:], true
	}
	return words.Of(all, func(n numbered) repository.Tag { return n.Tag }), nil
}

// release is the name of a tag that is one of the whole repository.
var release = regexp.MustCompile(`^v?\d`)

// wants reports whether a tag's name is one of a release. Those of parts of a repository, as in api/v1.2.0, have to be asked for.
func (r *reader) wants(name string) bool {
	if r.Tags == "" {
		return release.MatchString(name)
	}
	matched, err := path.Match(r.Tags, name)
	return matched && err == nil
}

func (r *reader) noTags(all int) error {
	switch says, shallow := r.history.Shallow(); {
	case r.Unreleased && len(r.Named) == 0 && all == 0 && shallow:
		return errors.New("there is no tag: " + says)
	case all == 0:
		return errors.New("the repository has no tags; fetch them with `git fetch --tags`, or name releases with --release NAME=PATH")
	case shallow:
		return errors.New("no tag is the number of a release; " + says)
	default:
		return fmt.Errorf("none of %s is the number of a release%s; say how they are called with --tags", words.Count(all, "tag"), cmp.Or(map[bool]string{true: " that matches --tags " + r.Tags}[r.Tags != ""]))
	}
}

func (r *reader) since(all []numbered) ([]numbered, error) {
	if r.From == "" {
		return all, nil
	}
	i := slices.IndexFunc(all, func(n numbered) bool { return n.Name == r.From })
	if i < 0 {
		return nil, fmt.Errorf("--from %s: there is no such tag among the releases; the newest is %s", r.From, all[len(all)-1].Name)
	}
	r.source.Earlier = i > 0
	return all[i:], nil
}

// firstOfMinors leaves out patches, but for the newest release: what a patch brings is in the next minor release, too.
func firstOfMinors(all []numbered) (kept []numbered) {
	for i, n := range all {
		if i == 0 || i == len(all)-1 || n.number.Major() != all[i-1].number.Major() || n.number.Minor() != all[i-1].number.Minor() {
			kept = append(kept, n)
		}
	}
	return kept
}
