package loop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// errEnded reports that the watch of the parents has ended, as the API server ends each watch after some time.
var errEnded = errors.New("the watch of the parents ended")

// Options describe the work.
type Options struct {
	// Workers is the number of parents that are reconciled concurrently. With several kinds, each has its share, but at
	// least one.
	Workers int
	// Kinds is the number of parent kinds.
	Kinds int
	// Size is the size of the ConfigMap's bulk, in bytes.
	Size int
}

// Run does the work until ctx ends: first for all existing parents, then for each created or changed one, and for all
// parents again at each line of again.
func Run(ctx context.Context, config *rest.Config, again io.Reader, o Options) error {
	group, ctx := errgroup.WithContext(ctx)
	lines := make([]chan struct{}, o.Kinds)
	for kind := range app.Kind(o.Kinds) {
		l, err := newLoop(config, kind, o)
		if err != nil {
			return err
		}
		lines[kind] = make(chan struct{})
		group.Go(func() error { return l.run(ctx, lines[kind]) })
	}
	go func() { // ends with its input, or with the process while a read blocks
		for scanner := bufio.NewScanner(again); scanner.Scan(); {
			for _, line := range lines {
				select {
				case line <- struct{}{}:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return group.Wait()
}

// loop does the work for one parent kind.
type loop struct {
	kind     app.Kind
	workers  int
	size     int
	parents  rest.Interface
	children kubernetes.Interface
}

func (l *loop) run(ctx context.Context, again <-chan struct{}) error {
	for ctx.Err() == nil {
		if err := l.pass(ctx, again); err != nil && !errors.Is(err, errEnded) && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func newLoop(config *rest.Config, kind app.Kind, o Options) (*loop, error) {
	scheme, err := app.Scheme(kind)
	if err != nil {
		return nil, err
	}
	ours := rest.CopyConfig(config)
	version := app.GroupVersion()
	ours.GroupVersion, ours.APIPath = &version, "/apis"
	ours.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	parents, err := rest.RESTClientFor(ours)
	if err != nil {
		return nil, fmt.Errorf("make client of parents: %w", err)
	}
	builtin := rest.CopyConfig(config)
	builtin.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	children, err := kubernetes.NewForConfig(builtin)
	if err != nil {
		return nil, fmt.Errorf("make client of children: %w", err)
	}
	return &loop{
		kind: kind, workers: max(1, o.Workers/o.Kinds), size: o.Size, parents: parents, children: children,
	}, nil
}

// pass lists all parents and does the work for each. Then it follows changes until the watch ends or another pass is
// requested.
func (l *loop) pass(ctx context.Context, again <-chan struct{}) error {
	var list app.List
	err := l.parents.Get().Resource(l.kind.Resource()).VersionedParams(&metav1.ListOptions{}, metav1.ParameterCodec).Do(ctx).Into(&list)
	if err != nil {
		return fmt.Errorf("list parents: %w", err)
	}
	events, err := l.parents.Get().Resource(l.kind.Resource()).VersionedParams(&metav1.ListOptions{
		Watch: true, ResourceVersion: list.ResourceVersion,
	}, metav1.ParameterCodec).Watch(ctx)
	if err != nil {
		return fmt.Errorf("watch parents: %w", err)
	}
	defer events.Stop()

	work := make(chan *app.App)
	group, ctx := errgroup.WithContext(ctx)
	for range l.workers {
		group.Go(func() error {
			for parent := range work {
				if err := l.converge(ctx, parent); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(work)
		seen := make(map[types.UID]int64, len(list.Items))
		for i := range list.Items {
			seen[list.Items[i].UID] = list.Items[i].Generation
			if !send(ctx, work, &list.Items[i]) {
				return ctx.Err()
			}
		}
		return follow(ctx, seen, events.ResultChan(), again, work)
	})
	return group.Wait()
}

// follow sends new parents, and those whose generation differs from the one in seen, by UID.
func follow(ctx context.Context, seen map[types.UID]int64, events <-chan watch.Event, again <-chan struct{}, work chan<- *app.App) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again:
			return errEnded
		case event, open := <-events:
			parent, isParent := event.Object.(*app.App)
			switch {
			case !open || event.Type == watch.Error:
				return errEnded
			case !isParent:
			case event.Type == watch.Deleted:
				delete(seen, parent.UID)
			case seen[parent.UID] != parent.Generation:
				seen[parent.UID] = parent.Generation
				if !send(ctx, work, parent) {
					return ctx.Err()
				}
			}
		}
	}
}

func send(ctx context.Context, work chan<- *app.App, parent *app.App) bool {
	select {
	case work <- parent:
		return true
	case <-ctx.Done():
		return false
	}
}

// converge applies the children of a parent and patches its status.
func (l *loop) converge(ctx context.Context, parent *app.App) error {
	if parent.DeletionTimestamp != nil {
		return nil
	}
	force := metav1.ApplyOptions{FieldManager: "kanonbench-loop", Force: true}
	children := parent.Children(l.kind, l.size)
	for _, object := range children.ConfigMaps {
		if _, err := l.children.CoreV1().ConfigMaps(parent.Namespace).Apply(ctx, object, force); err != nil {
			return fmt.Errorf("apply ConfigMap: %w", err)
		}
	}
	service, err := l.children.CoreV1().Services(parent.Namespace).Apply(ctx, children.Service, force)
	if err != nil {
		return fmt.Errorf("apply Service: %w", err)
	}
	if _, err := l.children.AppsV1().Deployments(parent.Namespace).Apply(ctx, children.Deployment, force); err != nil {
		return fmt.Errorf("apply Deployment: %w", err)
	}
	patch, err := json.Marshal(map[string]any{"status": app.Status{ClusterIP: service.Spec.ClusterIP}})
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	err = l.parents.Patch(types.MergePatchType).Namespace(parent.Namespace).Resource(l.kind.Resource()).Name(parent.Name).
		SubResource("status").Body(patch).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) { // the parent may have been deleted
		return fmt.Errorf("patch status: %w", err)
	}
	return nil
}
