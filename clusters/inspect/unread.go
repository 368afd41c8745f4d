package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/snapshot"
)

// miss notes what could not be read. Who asked is left out: the API server would name them.
func (t *taker) miss(what snapshot.What, crd, words string, rule rbacv1.PolicyRule, err error) {
	n := snapshot.NotRead{What: what, CRD: crd, Why: unread(err, words, inWords(rule))}
	if apierrors.IsForbidden(err) {
		n.Rule = &rule
	}
	t.NotRead = append(t.NotRead, n)
}

// unread says in one line why something is not known, and which permission is missing if that is why.
func unread(err error, words, permission string) string {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Sprintf("%s may not be read; it needs %s", words, permission)
	}
	return fmt.Sprintf("%s could not be read: %s", words, plain(err))
}

// leaveOut notes what was not asked for, or cannot be there to be read.
func (t *taker) leaveOut(what snapshot.What, crd, why string) {
	t.NotRead = append(t.NotRead, snapshot.NotRead{What: what, CRD: crd, Why: why})
}

// inWords is "list on widgets in example.com".
func inWords(rule rbacv1.PolicyRule) string {
	verbs := strings.Join(rule.Verbs, " and ")
	if len(rule.NonResourceURLs) > 0 {
		return verbs + " on the path " + strings.Join(rule.NonResourceURLs, ", ")
	}
	return fmt.Sprintf("%s on %s in %s", verbs, strings.Join(rule.Resources, ", "), strings.Join(rule.APIGroups, ", "))
}

func allow(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// plain is an error in one line, without the address of the API server.
func plain(err error) string {
	if request := (*url.Error)(nil); errors.As(err, &request) {
		err = request.Err
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// answered reports whether an error is one that the API server has given.
func answered(err error) bool { return errors.As(err, new(apierrors.APIStatus)) }

const (
	// answerTime is how long the API server may take to answer one request if somebody waits for it.
	answerTime = 30 * time.Second
	// longestTime is how long it may take by default; the API server itself gives up after 60 s.
	longestTime = 65 * time.Second
	tries       = 6
	firstPause  = 250 * time.Millisecond
)

// retry asks again as long as the API server is busy.
func (c *Cluster) retry(ctx context.Context, ask func(context.Context) error) error {
	return rewrite.Retry{Clock: c.clock, Tries: tries, Passes: busy}.Do(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		return ask(ctx)
	})
}

func busy(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
}
