package preview

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/preview"
)

// rendered is what an entry point's cluster gets besides: the manifests of --also and --also-base. Without --also-base,
// they are new.
func (p *command) rendered(ctx context.Context, entry string) (more preview.Pair, err error) {
	for _, one := range []struct {
		flag  string
		texts []string
		to    *delivery.Cluster
	}{{"--also-base", p.alsoBase, &more.Base}, {"--also", p.also, &more.Head}} {
		for _, text := range one.texts {
			from, of, err := p.sourceOf(one.flag, text)
			if err != nil {
				return more, err
			}
			if of != entry {
				continue
			}
			open := os.ReadFile
			if one.to == &more.Base { // what is in both sides is no change
				open = func(file string) ([]byte, error) { return p.trusted(ctx, file) }
			}
			content, err := open(from.place)
			if err != nil {
				return more, fmt.Errorf("%s: %w", one.flag, err)
			}
			read, err := desired.Stream(from.place, bytes.NewReader(content))
			if err != nil {
				return more, fmt.Errorf("%s: %w", one.flag, err)
			}
			beside(one.to, *read)
		}
	}
	return more, nil
}

// beside adds to a cluster what it gets besides.
func beside(c *delivery.Cluster, more delivery.Cluster) {
	c.Units, c.Unseen = append(c.Units, more.Units...), append(c.Unseen, more.Unseen...)
	c.Findings = append(c.Findings, more.Findings...)
}
