package deprecation

import "regexp"

// level is how stable a version says it is. The set is closed, and in order.
type level int

const (
	alpha level = iota
	beta
	stable
)

var unstable = regexp.MustCompile(`^v\d+(alpha|beta)\d+$`)

// levelOf reads the level from the name. A name that is none of Kubernetes' kind promises nothing less than stability.
func levelOf(version string) level {
	switch found := unstable.FindStringSubmatch(version); {
	case found == nil:
		return stable
	case found[1] == "alpha":
		return alpha
	default:
		return beta
	}
}

func (l level) String() string {
	switch l {
	case alpha:
		return "alpha"
	case beta:
		return "beta"
	case stable:
	}
	return "stable"
}
