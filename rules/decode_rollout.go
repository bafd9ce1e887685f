package rules

import (
	"errors"
	"strconv"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

const (
	orderParallel     = "Parallel"
	orderOrderedReady = "OrderedReady"
)

// rolloutSpec is rollout of a child.
type rolloutSpec struct {
	node *yamltree.Node
	// max is maxUnavailable where it is an expression, else nil; share is what is
	// written out.
	max   *yamltree.Node
	share share
	// ordered is true for order OrderedReady.
	ordered   bool
	partition int64
}

// share is a number of items: so many, or so many in a hundred.
type share struct {
	count, percent int64
}

// of is the share of a number of items, at least one.
func (s share) of(items int) int {
	if s.percent > 0 {
		return max(1, int(int64(items)*s.percent/100))
	}
	return int(s.count)
}

var errShare = errors.New("must be a number from 1 on, or text from 1% to 100%")

// shareOf reads maxUnavailable.
func shareOf(val any) (share, error) {
	switch val := val.(type) {
	case int64:
		if val >= 1 && val <= 1<<30 {
			return share{count: val}, nil
		}
	case string:
		text, percent := strings.CutSuffix(val, "%")
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && percent && n >= 1 && n <= 100 {
			return share{percent: n}, nil
		}
	}
	return share{}, errShare
}

func (d *decoder) rollout(n *yamltree.Node, path string) *rolloutSpec {
	r := &rolloutSpec{node: n, share: share{count: 1}}
	d.object(n, path, fields{
		"maxUnavailable": func(n *yamltree.Node) {
			if text, ok := n.Text(); ok && hasExpression(text) {
				r.max = n
				return
			}
			var err error
			if r.share, err = shareOf(n.Value); err != nil {
				d.report(n, diagnostic.CodeRolloutShare, "%s.maxUnavailable %s, and is %s", path, err.Error(), n.Shown())
			}
		},
		"order": func(n *yamltree.Node) {
			text, ok := d.plainString(n, path+".order")
			if ok && text != orderParallel && text != orderOrderedReady {
				d.report(n, diagnostic.CodeNotOneOf, "%s.order must be %s or %s, and is %q", path, orderParallel, orderOrderedReady, text).
					WithHint("%s", diagnostic.DidYouMean(text, []string{orderParallel, orderOrderedReady}))
			}
			r.ordered = text == orderOrderedReady
		},
		"partition": func(n *yamltree.Node) {
			partition, ok := n.Value.(int64)
			if n.Kind != yamltree.Scalar || !ok || partition < 0 {
				d.report(n, diagnostic.CodeFieldType, "%s.partition must be a number from 0 on, and is %s", path, n.Shown())
			}
			r.partition = partition
		},
	})
	return r
}
