package syntax

import (
	"errors"
	"strconv"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// orderOrderedReady handles the items one after the other.
const orderOrderedReady = "OrderedReady"

// Rollout is rollout of a child.
type Rollout struct {
	Node *yamltree.Node
	// Max is maxUnavailable if that is an expression. Otherwise Share has its value.
	Max   *yamltree.Node
	Share Share
	// Ordered is true for order OrderedReady.
	Ordered   bool
	Partition int64
}

// Share is a number of items, or a percentage of them.
type Share struct {
	count, percent int64
}

// Of is the share of a number of items, at least one.
func (s Share) Of(items int) int {
	if s.percent > 0 {
		return max(1, int(int64(items)*s.percent/100))
	}
	return int(s.count)
}

var errShare = errors.New("must be a number from 1 on, or text from 1% to 100%")

// ShareOf parses maxUnavailable.
func ShareOf(val any) (Share, error) {
	switch val := val.(type) {
	case int64:
		if val >= 1 && val <= 1<<30 {
			return Share{count: val}, nil
		}
	case string:
		text, percent := strings.CutSuffix(val, "%")
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && percent && n >= 1 && n <= 100 {
			return Share{percent: n}, nil
		}
	}
	return Share{}, errShare
}

func (d *decoder) rollout(n *yamltree.Node, path string) *Rollout {
	r := &Rollout{Node: n, Share: Share{count: 1}}
	d.object(n, path, language.Rollout(), decoders{
		"maxUnavailable": func(n *yamltree.Node) {
			if text, ok := n.Text(); ok && scanner.HasExpression(text) {
				r.Max = n
				return
			}
			var err error
			if r.Share, err = ShareOf(n.Value); err != nil {
				d.report(n, diagnostic.CodeRolloutShare, "%s.maxUnavailable %s, and is %s", path, err.Error(), n.Shown())
			}
		},
		"order": func(n *yamltree.Node) {
			r.Ordered = d.word(n, path+".order", language.Rollout().Words("order")) == orderOrderedReady
		},
		"partition": func(n *yamltree.Node) {
			partition, ok := n.Value.(int64)
			if n.Kind != yamltree.Scalar || !ok || partition < 0 {
				d.report(n, diagnostic.CodeFieldType, "%s.partition must be a number from 0 on, and is %s", path, n.Shown())
			}
			r.Partition = partition
		},
	})
	return r
}
