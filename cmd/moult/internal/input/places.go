package input

import (
	"fmt"
	"os"

	"github.com/moult-dev/moult/policies/survivors"
)

// Places are those that Moult knows, and those of a person's own folder, which --places names; empty for none.
func Places(folder string) ([]survivors.Place, error) {
	places := survivors.Embedded()
	if folder == "" {
		return places, nil
	}
	own, err := survivors.Load(os.DirFS(folder))
	if err == nil {
		places, err = survivors.Join(places, own)
	}
	if err != nil {
		return nil, fmt.Errorf("--places %s: %w", folder, err)
	}
	return places, nil
}
