package operations

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"kanon.dev/kanon/live/follow"
	"kanon.dev/kanon/live/installed"
)

// Awaited is a rule whose state is about to change. Make it before the write that changes the state.
type Awaited struct {
	desk      Desk
	namespace string
	name      types.NamespacedName
	watches   []follow.Watch
}

// Await makes an Awaited. namespace is Kanon's.
func (d Desk) Await(ctx context.Context, namespace string, rule *installed.Rule) (*Awaited, error) {
	watches, err := installed.Watches(ctx, d.Client, namespace)
	return &Awaited{desk: d, namespace: namespace, name: rule.Name, watches: watches}, err
}

// errDone ends a watch.
var errDone = errors.New("done")

// Until waits, at most for limit, until wanted is true for the rule. It returns the rule as it is then; is reports
// whether wanted is true.
func (a *Awaited) Until(ctx context.Context, limit time.Duration, wanted func(*installed.Rule) bool) (rule *installed.Rule, is bool, err error) {
	check := func() error {
		rules, err := installed.List(ctx, a.desk.Client, a.namespace)
		if err != nil {
			return err
		}
		if rule, err = rules.Find(a.name.String()); err != nil {
			return err
		}
		if is = wanted(rule); is {
			return errDone
		}
		return nil
	}
	if err := check(); err != nil {
		return rule, is, ignoreDone(err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = follow.Objects(ctx, func(watch.EventType, *unstructured.Unstructured) error { return check() }, a.watches...)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return rule, is, ignoreDone(err)
}

func ignoreDone(err error) error {
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}
