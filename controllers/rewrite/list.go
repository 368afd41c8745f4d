package rewrite

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// list sends all objects to the workers, a page at a time. The next page is
// fetched while the last one is being written. An expired list goes on from the
// token in the error, a list that one object spoils goes on at another version,
// and a list that cannot be served is retried with patience.
func (w *Walk) list(ctx context.Context, book *tallyBook, items chan<- *metav1.PartialObjectMetadata) error {
	var seen int64
	opts := metav1.ListOptions{Limit: w.PageSize}
	patience := w.newPatience()
	listers := append([]Objects{w.Objects}, w.Otherwise...)
	for {
		page, err := listers[0].List(ctx, opts)
		if token, expired := continueToken(err); expired {
			if opts.Continue = token; token == "" {
				seen = 0 // the list starts anew
			}
			if err := patience.again(ctx, err); err != nil {
				return err
			}
			continue
		}
		if spoilt(err) && len(listers) > 1 {
			listers = listers[1:]
			continue
		}
		if err != nil {
			if err := patience.sit(ctx, err); err != nil {
				return err
			}
			continue
		}
		patience = w.newPatience()
		seen += int64(len(page.Items))
		total := seen
		if page.RemainingItemCount != nil {
			total += *page.RemainingItemCount
		}
		book.listed(total, page.ResourceVersion)
		for i := range page.Items {
			select {
			case items <- &page.Items[i]:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			return nil
		}
		if w.Turn != nil {
			if err := w.Turn(ctx); err != nil {
				return err
			}
		}
	}
}

// spoilt tells whether a list failed because of an object in it: the API server
// answers all or nothing.
func spoilt(err error) bool {
	if err == nil {
		return false
	}
	c, reason := classify(err)
	return c == rejected && reason == reasonConversion
}
