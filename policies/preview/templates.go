package preview

import (
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
)

// hiddenByValues finds templates of charts whose text changes, while the CRDs that they make of the chart's own values do not:
// other values may show what has changed.
func (s *spread) hiddenByValues() {
	for _, now := range s.all.Head.Templates {
		i := slices.IndexFunc(s.all.Base.Templates, func(t delivery.Template) bool { return t.Name == now.Name })
		if i < 0 {
			continue // the CRDs of the files say what comes and goes
		}
		was := s.all.Base.Templates[i]
		if was.Made != now.Made || was.Text == now.Text {
			continue
		}
		s.first.Base.Unseen = append(slices.Clip(s.first.Base.Unseen), was.Unseen())
		s.first.Head.Unseen = append(slices.Clip(s.first.Head.Unseen), now.Unseen())
	}
}
