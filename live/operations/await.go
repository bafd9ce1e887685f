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

// Awaited is a rule whose verdict is about to change. It is made before what changes it is written.
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

// Until waits until a rule is as it is wanted, for no longer than limit, and returns it as it is then. is reports whether it is as
// wanted.
func (a *Awaited) Until(ctx context.Context, limit time.Duration, wanted func(*installed.Rule) bool) (rule *installed.Rule, is bool, err error) {
	look := func() error {
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
	if err := look(); err != nil {
		return rule, is, ignoreDone(err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = follow.Objects(ctx, func(watch.EventType, *unstructured.Unstructured) error { return look() }, a.watches...)
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
