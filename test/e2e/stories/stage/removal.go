package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

// RemovalSays is a check: the VersionRemoval's Ready condition has that reason. What is seen is what
// `kubectl get versionremoval` prints.
func (s *Stage) RemovalSays(reason string) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		row, err := s.removalRow(ctx)
		return row, strings.Contains(row+" ", "REASON="+reason+" "), err
	}
}

// RemovalReady is a check: the VersionRemoval says that the version may go.
func (s *Stage) RemovalReady() story.Check { return s.removalReady(Namespace, Removal) }

func (s *Stage) removalReady(namespace, name string) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		removal, err := cluster.Get(ctx, s.Client, removalAPI, removalKind, namespace, name)
		if apierrors.IsNotFound(err) {
			return "no VersionRemoval", false, nil
		}
		ready, message := cluster.Condition(removal, "Ready")
		return fmt.Sprintf("VersionRemoval Ready=%s: %s", ready, message), ready == "True", err
	}
}

// removalRow is the VersionRemoval in its printer columns, as CRD=widgets.example.com VERSIONS=["v1alpha1"] ….
func (s *Stage) removalRow(ctx context.Context) (string, error) {
	c, err := discovery.NewDiscoveryClientForConfig(s.Config)
	if err != nil {
		return "", err
	}
	content, err := c.RESTClient().Get().
		AbsPath("apis", removalAPI, "namespaces", Namespace, "versionremovals", Removal).
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return "no VersionRemoval", nil
	}
	if err != nil {
		return "", err
	}
	table := metav1.Table{}
	if err := json.Unmarshal(content, &table); err != nil {
		return "", fmt.Errorf("the columns of VersionRemoval %s: %w", Removal, err)
	}
	return cells(table), nil
}

// cells leaves out what kubectl shows with -o wide only, and the name and age.
func cells(table metav1.Table) string {
	var all []string
	for _, row := range table.Rows {
		for i, column := range table.ColumnDefinitions {
			if column.Priority > 0 || column.Name == "Name" || column.Name == "Age" || row.Cells[i] == nil {
				continue
			}
			all = append(all, fmt.Sprintf("%s=%v", strings.ToUpper(column.Name), row.Cells[i]))
		}
	}
	return strings.Join(all, " ")
}
