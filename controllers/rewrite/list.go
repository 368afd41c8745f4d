package rewrite

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// list sends all objects on, a page at a time.
func (w *Walk) list(ctx context.Context, pages chan<- []metav1.PartialObjectMetadata) error {
	l := &lister{Walk: w, size: newPageSize(w.PageSize), backoff: w.newBackoff()}
	for {
		page, err := l.page(ctx)
		if err != nil {
			return err
		}
		w.collector.listed(l.total(page), page.ResourceVersion)
		w.breaker.listed(keysOf(page))
		next := page.Continue
		w.strip(page.Items)
		select {
		case pages <- page.Items:
		case <-ctx.Done():
			return ctx.Err()
		}
		if l.token = next; next == "" {
			return nil
		}
		if w.Turn != nil {
			if err := w.Turn(ctx); err != nil {
				return err
			}
		}
	}
}

// deal hands out the objects of the pages one by one.
func deal(ctx context.Context, pages <-chan []metav1.PartialObjectMetadata, items chan<- *metav1.PartialObjectMetadata) error {
	for page := range pages {
		for i := range page {
			select {
			case items <- &page[i]:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// lister asks for one page after the other.
type lister struct {
	*Walk
	token   string // where to go on
	size    pageSize
	seen    int64
	backoff *backoff
}

// page is the next page. An expired list goes on from the token in the error, a
// page that is too large, or spoilt at all versions, is asked for anew as a smaller
// one, and a list that cannot be served is asked for again later.
func (l *lister) page(ctx context.Context) (*metav1.PartialObjectMetadataList, error) {
	for {
		page, err := l.atAnyVersion(ctx)
		if err == nil {
			l.backoff = l.newBackoff()
			l.size.came(page)
			return page, nil
		}
		if err := l.goOn(ctx, err); err != nil {
			return nil, err
		}
	}
}

// goOn decides what to ask for after an error, and when.
func (l *lister) goOn(ctx context.Context, err error) error {
	token, expired := continueToken(err)
	switch {
	case expired:
		if l.token = token; token == "" {
			l.seen = 0 // the list starts anew
		}
		return l.backoff.waitAnyhow(ctx, err)
	case errors.Is(err, ErrPageTooLarge), spoilt(err) && l.size.next > 1:
		l.size.shrink()
		return ctx.Err()
	case tookTooLong(err):
		l.size.slow()
		return l.backoff.wait(ctx, err)
	default:
		return l.backoff.wait(ctx, err)
	}
}

// tookTooLong tells whether a list failed that may succeed with fewer objects, which
// the API server may have to convert one by one.
func tookTooLong(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || utilnet.IsTimeout(err)
}

// atAnyVersion lists at another version if one object that cannot be converted
// spoils the list at the storage version: the API server answers all or nothing.
func (l *lister) atAnyVersion(ctx context.Context) (*metav1.PartialObjectMetadataList, error) {
	opts := metav1.ListOptions{Limit: l.size.next, Continue: l.token}
	page, err := l.Objects.List(ctx, opts)
	for _, other := range l.Otherwise {
		if !spoilt(err) {
			break
		}
		page, err = other.List(ctx, opts)
	}
	return page, err
}

// total is how many objects there are as far as is known.
func (l *lister) total(page *metav1.PartialObjectMetadataList) int64 {
	l.seen += int64(len(page.Items))
	if page.RemainingItemCount == nil {
		return l.seen
	}
	return l.seen + *page.RemainingItemCount
}

// spoilt tells whether a list failed because of an object in it.
func spoilt(err error) bool {
	if err == nil {
		return false
	}
	c, _ := classify(err)
	return c == unconverted
}
