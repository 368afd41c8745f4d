package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/policies/doctor"
)

const (
	helmSecret = "helm.sh/release.v1"
	// secretsPerPage bounds memory: each may be 1 MiB.
	secretsPerPage = 20
)

// releases reads what Helm has stored, in the namespaces or in all. A Secret that is no release after all is named in
// notSeen, and so is a namespace that cannot be read beside others that can.
func (c *Cluster) releases(ctx context.Context, namespaces []string) (known doctor.Known[[]doctor.Release], notSeen []string) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var unseen []string
	for _, namespace := range namespaces {
		releases, broken, err := c.releasesIn(ctx, namespace)
		known.Value, notSeen = append(known.Value, releases...), append(notSeen, broken...)
		if err != nil {
			unseen = append(unseen, unread(err, "the Secrets of Helm's releases", "list on secrets"+inNamespace(namespace)+"; --helm-namespace asks for less"))
		}
	}
	if len(unseen) == len(namespaces) {
		return doctor.Known[[]doctor.Release]{Not: strings.Join(unseen, "; ")}, nil
	}
	return known, append(notSeen, unseen...)
}

func (c *Cluster) releasesIn(ctx context.Context, namespace string) (releases []doctor.Release, broken []string, err error) {
	restart := func() { releases, broken = nil, nil }
	query := metav1.ListOptions{Limit: secretsPerPage, FieldSelector: "type=" + helmSecret}
	err = each(ctx, c, query, restart, c.core.Secrets(namespace).List, func(secret *corev1.Secret) error {
		release, err := releaseIn(ctx, secret) // which may take longer than one request may
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			broken = append(broken, err.Error())
		default:
			releases = append(releases, release)
		}
		return nil
	})
	return releases, broken, err
}

func releaseIn(ctx context.Context, secret *corev1.Secret) (doctor.Release, error) {
	release, err := doctor.Decode(ctx, secret.Data["release"])
	if errors.Is(err, doctor.ErrTooMuch) {
		return doctor.Release{}, fmt.Errorf("the release in Secret %s/%s was not looked at: %w", secret.Namespace, secret.Name, err)
	}
	if err != nil {
		return doctor.Release{}, fmt.Errorf("the release in Secret %s/%s cannot be read: %w", secret.Namespace, secret.Name, err)
	}
	release.Namespace = secret.Namespace
	return release, nil
}

func inNamespace(namespace string) string {
	if namespace == metav1.NamespaceAll {
		return " in all namespaces"
	}
	return " in namespace " + namespace
}
