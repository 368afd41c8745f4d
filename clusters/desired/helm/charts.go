// Package helm finds the charts of a repository, and renders them without a cluster.
package helm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Source finds charts that are not in the repository. An error says what to do; charts.ErrNotAsked is one that
// needs no words.
type Source interface {
	Chart(ctx context.Context, reference charts.Reference) (*charts.Chart, error)
}

// None has no charts.
type None struct{}

// Chart implements Source.
func (None) Chart(context.Context, charts.Reference) (*charts.Chart, error) {
	return nil, charts.ErrNotAsked
}

// Renderer renders charts for a cluster that has only Kubernetes' own APIs.
type Renderer struct {
	// Source has those that are not in the repository.
	Source

	Tree *files.Tree
	// Taken are names of what objects refer to and is not in the repository. A chart may make it.
	Taken []string
}

// Load reads a chart of this repository, with those that it names by file://.
func Load(t *files.Tree, dir string) (*charts.Chart, error) { return within(t, dir, 0) }

// MostNested is how many charts may name one another by file://.
const MostNested = 10

func within(t *files.Tree, dir string, depth int) (*charts.Chart, error) {
	if depth > MostNested {
		return nil, fmt.Errorf("the charts at %s name one another", t.Relative(dir))
	}
	t.Reads.Folder(dir)
	if err := pointersIn(t, dir); err != nil {
		return nil, err
	}
	chart, err := charts.Folder(dir, t.Root)
	if err != nil {
		return nil, err
	}
	for _, missing := range chart.Missing() {
		path, local := strings.CutPrefix(missing.Repository, "file://")
		at := filepath.Join(dir, filepath.FromSlash(path))
		if !local || !files.HasChart(at) {
			continue // if the values switch it off, it is not missed
		}
		held, err := within(t, at, depth+1)
		if err == nil {
			chart, err = chart.With(held)
		}
		if err != nil {
			return nil, fmt.Errorf("its dependency %s: %w", missing.Name, err)
		}
	}
	return chart, nil
}

// pointersIn is an error if a file of a chart is not here: what it makes would be another thing.
func pointersIn(t *files.Tree, dir string) error {
	all := func(string) bool { return false }
	return t.Each(dir+string(filepath.Separator)+".", all, func(file string) error {
		t.Reads.File(file) // it may lie behind a link
		if !files.IsData(file) && filepath.Ext(file) != ".tgz" {
			return nil
		}
		_, err := render.ReadRegular(file)
		return err
	})
}

// Render renders a chart for a cluster that has only Kubernetes' own APIs. The chart is the one that was rendered, with a dependency that turned
// out to be needed.
func (r Renderer) Render(ctx context.Context, chart *charts.Chart, release charts.Release) (*charts.Rendering, *charts.Chart, error) {
	for {
		rendering, err := chart.Render(ctx, release)
		var missing *charts.MissingError
		if !errors.As(err, &missing) {
			return rendering, chart, err
		}
		held, lacks := r.Chart(ctx, charts.Reference{Repository: missing.Repository, Name: missing.Name, Version: missing.Version})
		if lacks == nil && held.Name() != missing.Name {
			lacks = fmt.Errorf("what its repository has is called %s", held.Name())
		}
		if lacks == nil {
			chart, lacks = chart.With(held)
		}
		if lacks != nil {
			return nil, nil, fmt.Errorf("%w (%s)", err, lacks.Error())
		}
	}
}

// Placed are objects of a chart with their places as a person reads them.
func Placed(t *files.Tree, objects []*delivery.Object) []*delivery.Object {
	return files.Placed(&render.Rendering{Objects: objects}, func(at finding.Place) finding.Place {
		if at.File == "" {
			return at // in an archive
		}
		return t.Place(at)
	})
}

// Name is a chart as a person reads of it.
func Name(c *charts.Chart) string { return strings.TrimSpace(c.Name() + " " + c.Version()) }
