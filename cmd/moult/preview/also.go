package preview

import (
	"fmt"
	"os"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/preview"
)

// rendered is what an entry point's cluster gets besides: the manifests of --also and --also-base. Without --also-base,
// they are new.
func (p *command) rendered(entry string) (more preview.Pair, err error) {
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
			read, err := readRendered(from.place)
			if err != nil {
				return more, fmt.Errorf("%s: %w", one.flag, err)
			}
			beside(one.to, *read)
		}
	}
	return more, nil
}

func readRendered(file string) (*delivery.Cluster, error) {
	content, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	return desired.Stream(file, content)
}

// beside adds to a cluster what it gets besides.
func beside(c *delivery.Cluster, more delivery.Cluster) {
	c.Units, c.Unseen = append(c.Units, more.Units...), append(c.Unseen, more.Unseen...)
	c.Findings = append(c.Findings, more.Findings...)
}
