package telemetry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/telemetry"
)

// counts keeps what is counted.
type counts struct {
	reconciles []telemetry.Reconcile
	writes     []telemetry.Write
	rules      []string
}

func (c *counts) Reconciled(_ string, r telemetry.Reconcile) { c.reconciles = append(c.reconciles, r) }

func (c *counts) Watched(string, string) {}

func (c *counts) Wrote(rule string, w telemetry.Write) {
	c.rules, c.writes = append(c.rules, rule), append(c.writes, w)
}

// cluster answers every write with err.
type cluster struct {
	dynamic.NamespaceableResourceInterface
	err error
}

func (c *cluster) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return c
}
func (c *cluster) Namespace(string) dynamic.ResourceInterface { return c }

func (c *cluster) Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions, ...string) (*unstructured.Unstructured, error) {
	return nil, c.err
}

func (c *cluster) Update(context.Context, *unstructured.Unstructured, metav1.UpdateOptions, ...string) (*unstructured.Unstructured, error) {
	return nil, c.err
}

func (c *cluster) UpdateStatus(context.Context, *unstructured.Unstructured, metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	return nil, c.err
}

func (c *cluster) Delete(context.Context, string, metav1.DeleteOptions, ...string) error {
	return c.err
}

func (c *cluster) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*unstructured.Unstructured, error) {
	return nil, c.err
}

func TestWritesAreCounted(t *testing.T) {
	t.Parallel()
	counted, server := &counts{}, &cluster{}
	deployments := telemetry.NewClient(server, counted).Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace("team-a")
	work := telemetry.Begin("home/web", counted)
	ctx := telemetry.NewContext(t.Context(), work)
	_, _ = deployments.Create(ctx, nil, metav1.CreateOptions{})
	_, _ = deployments.Create(ctx, nil, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	_, _ = deployments.Patch(ctx, "web", types.ApplyPatchType, nil, metav1.PatchOptions{})
	server.err = apierrors.NewConflict(schema.GroupResource{}, "web", nil)
	_, _ = deployments.Patch(ctx, "web", types.JSONPatchType, nil, metav1.PatchOptions{})
	server.err = errors.New("connection refused")
	_, _ = deployments.Update(ctx, nil, metav1.UpdateOptions{})
	server.err = context.Canceled
	_, _ = deployments.UpdateStatus(ctx, nil, metav1.UpdateOptions{})
	_ = deployments.Delete(t.Context(), "web", metav1.DeleteOptions{})
	work.Evaluated(40, "max-list-length")
	work.Evaluated(2, "")
	work.End("again")

	of := func(verb telemetry.Verb, result string) telemetry.Write {
		return telemetry.Write{Resource: "deployments.apps", Verb: verb, Result: result}
	}
	if diff := cmp.Diff([]telemetry.Write{
		of(telemetry.Create, telemetry.Success), of(telemetry.DryRun, telemetry.Success), of(telemetry.Apply, telemetry.Success), of(telemetry.Patch, "Conflict"),
		of(telemetry.Update, "NoAnswer"), of(telemetry.Update, "Canceled"), of(telemetry.Delete, "Canceled"),
	}, counted.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if counted.rules[0] != "home/web" || counted.rules[6] != "" {
		t.Errorf("they count for %q", counted.rules)
	}
	want := []telemetry.Reconcile{{Verdict: "again", Writes: 5, Cost: 42, Exceeded: "max-list-length"}}
	if diff := cmp.Diff(want, counted.reconciles, cmpopts.IgnoreFields(telemetry.Reconcile{}, "Took")); diff != "" {
		t.Errorf("reconciles (-want +got):\n%s", diff)
	}
}

func TestNothingIsCounted(t *testing.T) {
	t.Parallel()
	server := &cluster{}
	if telemetry.NewClient(server, nil) != dynamic.Interface(server) {
		t.Error("a client is wrapped for nothing")
	}
	work := telemetry.Begin("home/web", nil)
	if ctx := telemetry.NewContext(t.Context(), work); telemetry.FromContext(ctx) != nil {
		t.Error("there is something to count by")
	}
	work.Evaluated(1, "")
	work.End("settled")
}
