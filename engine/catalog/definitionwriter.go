package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/restmapping/definitions"
)

const (
	// definitionWorkers is how many definitions are applied in parallel.
	definitionWorkers = 4
	// definitionRetry is the first pause before a refused definition is applied again. The pause grows up to
	// definitionRetryMax.
	definitionRetry    = 2500 * time.Millisecond
	definitionRetryMax = 5 * time.Minute
	// definitionPeace is how long a definition must stay as Kanon restored it after a change by others; a change before
	// that is a conflict.
	definitionPeace = time.Minute
)

// DefinitionWriter applies CustomResourceDefinitions. It implements definitionWriter.
type DefinitionWriter struct {
	options DefinitionWriterOptions
	client  dynamic.ResourceInterface
	cluster definitions.Client
	queue   *requests[string]

	mu sync.Mutex
	// wanted has the definitions by name. Guarded by mu, like applied and restored.
	wanted  map[string]Definition
	applied map[string]AppliedDefinition
	// restored has the times when Kanon undid changes by others.
	restored map[string]time.Time
}

// DefinitionWriterOptions are the dependencies of a DefinitionWriter. All are required.
type DefinitionWriterOptions struct {
	Counter *queue.Counter
	Client  dynamic.Interface
	// Namespace is Kanon's own.
	Namespace string
	// MayWrite reports whether definitions may be applied, and not only compared with those of the cluster. Call Retry
	// when it becomes true.
	MayWrite func() bool
	// Arrived is called after a definition was applied or refused.
	Arrived func()
}

// NewDefinitionWriter starts goroutines, which end when Run returns.
func NewDefinitionWriter(o DefinitionWriterOptions) *DefinitionWriter {
	return &DefinitionWriter{
		options:  o,
		client:   definitionsIn(o.Client),
		cluster:  definitions.Client{Interface: o.Client, Timeout: requestTimeout},
		queue:    newRequests[string](o.Counter, definitionRetry, definitionRetryMax),
		wanted:   make(map[string]Definition),
		applied:  make(map[string]AppliedDefinition),
		restored: make(map[string]time.Time),
	}
}

// Run applies definitions until ctx ends.
func (w *DefinitionWriter) Run(ctx context.Context) { w.queue.Run(ctx, definitionWorkers, w.applyOne) }

// Apply implements definitionWriter.
func (w *DefinitionWriter) Apply(d Definition) {
	name := d.Object.GetName()
	w.mu.Lock()
	w.wanted[name] = d
	w.mu.Unlock()
	w.queue.Add(name)
}

// Retry tries again, now, to apply all definitions that were not applied.
func (w *DefinitionWriter) Retry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.wanted {
		w.queue.Retry(name)
	}
}

// Drop implements definitionWriter.
func (w *DefinitionWriter) Drop(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wanted, name)
	delete(w.applied, name)
	delete(w.restored, name)
}

// Take implements definitionWriter.
func (w *DefinitionWriter) Take() map[string]AppliedDefinition {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.applied
	w.applied = make(map[string]AppliedDefinition)
	return taken
}

// errStandby reports that another process must write.
var errStandby = errors.New("the Kanon that leads has yet to apply it")

// standby is the cluster for a process that does not write: it does not read objects to find out what they would lose.
type standby struct{ definitions.Client }

// Objects implements definitions.Cluster.
func (standby) Objects(context.Context, *definitions.Comparison, func(*unstructured.Unstructured) error) error {
	return errStandby
}

// applyOne applies the definition with a name.
func (w *DefinitionWriter) applyOne(ctx context.Context, name string) (done bool) {
	w.mu.Lock()
	wanted, ok := w.wanted[name]
	w.mu.Unlock()
	if !ok {
		return true
	}
	live, err := w.keep(ctx, wanted)
	if ctx.Err() != nil {
		return true
	}
	applied := AppliedDefinition{Hash: wanted.Hash, Err: err, At: time.Now()}
	if refused, ok := errors.AsType[*definitions.Withheld](err); ok {
		applied.Refused = &Failure{Reason: refused.Reason, Message: refused.Message()}
	}
	if live != nil {
		applied.UID, applied.Generation = live.GetUID(), live.GetGeneration()
	}
	w.mu.Lock()
	if _, ok := w.wanted[name]; ok {
		w.applied[name] = applied
	}
	w.mu.Unlock()
	w.options.Arrived()
	return err == nil
}

// apply sends a definition to the API server.
func (w *DefinitionWriter) apply(ctx context.Context, d Definition, desired *unstructured.Unstructured, force bool) (live *unstructured.Unstructured, err error) {
	body, err := json.Marshal(desired.Object)
	if err != nil {
		return nil, err
	}
	err = withTimeout(ctx, func(ctx context.Context) error {
		live, err = w.client.Patch(ctx, d.Object.GetName(), types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: definitions.Manager, FieldValidation: metav1.FieldValidationStrict, Force: &force})
		return err
	})
	if err != nil {
		return nil, err
	}
	logr.FromContextOrDiscard(ctx).Info("Applied a CustomResourceDefinition", "name", d.Object.GetName(), "source", d.Text)
	return live, nil
}

// keep applies a definition if package definitions finds that it must be applied and may be. It returns the definition as it
// is then. A definition in a text with rules takes no field from another manager: that is a conflict, which keep
// returns.
func (w *DefinitionWriter) keep(ctx context.Context, d Definition) (*unstructured.Unstructured, error) {
	wanted := definitions.Wanted{
		Definition: d.Object, Hash: d.Hash, Adopt: d.Adopt, Confirmed: d.Confirmed,
	}
	if d.Rule.Name != "" {
		wanted.Keeper = definitions.NameOf(w.options.Namespace, d.Rule.Namespace, d.Rule.Name)
	}
	cluster, mayWrite := definitions.Cluster(w.cluster), w.options.MayWrite()
	if !mayWrite {
		cluster = standby{w.cluster}
	}
	planned, err := definitions.Prepare(ctx, cluster, wanted)
	switch {
	case err != nil:
		return nil, err
	case planned.Body == nil, planned.Optional && !mayWrite:
		return planned.Live, nil
	case !mayWrite:
		return nil, errStandby
	}
	if planned.Restores {
		if err := w.restore(d.Object.GetName(), planned); err != nil {
			return nil, err
		}
	}
	live, err := w.apply(ctx, d, planned.Body, planned.Force)
	if err != nil && planned.Optional && apierrors.IsForbidden(err) {
		return planned.Live, nil
	}
	if err != nil {
		return nil, definitions.WithheldBy(wanted, planned.Live == nil, err)
	}
	return live, nil
}

// restore records that Kanon undoes changes by others. It returns an error if they repeat these changes.
func (w *DefinitionWriter) restore(name string, planned *definitions.Plan) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if since := time.Since(w.restored[name]); since < definitionPeace {
		return fmt.Errorf("others changed it within %s after Kanon had restored it:\n%s", definitionPeace, planned.Changes)
	}
	w.restored[name] = time.Now()
	return nil
}
