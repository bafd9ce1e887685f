package background

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/activity"
	"kanon.dev/kanon/engine/catalog"
)

const (
	// definitionsManager is the field manager of CustomResourceDefinitions that are beside
	// rules in a text.
	definitionsManager = "kanon-definitions"
	// annotationDefinition records the hash of a definition as it was written.
	annotationDefinition = "kanon.dev/definition"
	// definitionWorkers is how many definitions are applied at the same time.
	definitionWorkers = 4
	// definitionRetry is the first pause before a definition that was refused is applied
	// again. The pause grows up to definitionRetryMax.
	definitionRetry    = 2500 * time.Millisecond
	definitionRetryMax = 5 * time.Minute
)

// DefinitionWriter applies CustomResourceDefinitions. It implements
// catalog.DefinitionWriter.
type DefinitionWriter struct {
	client dynamic.ResourceInterface
	queue  *Queue[string]
	// mayWrite tells whether definitions are applied, and not only compared. Retry says that they are from now on.
	mayWrite func() bool
	// arrived is called when something was applied, or refused.
	arrived func()

	mu sync.Mutex
	// wanted has the definitions by their names. Guarded by mu, as is applied.
	wanted  map[string]catalog.Definition
	applied map[string]catalog.AppliedDefinition
}

// NewDefinitionWriter starts goroutines, which end when Run returns. arrived is called when
// something was applied or refused. While mayWrite is false, definitions are compared with
// those of the cluster and not applied.
func NewDefinitionWriter(counter *activity.Counter, client dynamic.Interface, mayWrite func() bool, arrived func()) *DefinitionWriter {
	return &DefinitionWriter{
		client:   definitionsOf(client),
		queue:    NewQueue[string](counter, definitionRetry, definitionRetryMax, nil),
		mayWrite: mayWrite,
		arrived:  arrived,
		wanted:   make(map[string]catalog.Definition),
		applied:  make(map[string]catalog.AppliedDefinition),
	}
}

// Run applies until ctx ends.
func (w *DefinitionWriter) Run(ctx context.Context) { w.queue.Run(ctx, definitionWorkers, w.applyOne) }

// Apply implements catalog.DefinitionWriter.
func (w *DefinitionWriter) Apply(d catalog.Definition) {
	name := d.Object.GetName()
	w.mu.Lock()
	w.wanted[name] = d
	w.mu.Unlock()
	w.queue.Add(name)
}

// Retry has all definitions that were not applied tried again now.
func (w *DefinitionWriter) Retry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.wanted {
		w.queue.Retry(name)
	}
}

// Drop implements catalog.DefinitionWriter.
func (w *DefinitionWriter) Drop(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wanted, name)
	delete(w.applied, name)
}

// Take implements catalog.DefinitionWriter.
func (w *DefinitionWriter) Take() map[string]catalog.AppliedDefinition {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.applied
	w.applied = make(map[string]catalog.AppliedDefinition)
	return taken
}

// applyOne applies the definition of a name.
func (w *DefinitionWriter) applyOne(ctx context.Context, name string) (done bool) {
	w.mu.Lock()
	wanted, ok := w.wanted[name]
	w.mu.Unlock()
	if !ok {
		return true
	}
	live, err := w.bringUpToDate(ctx, wanted)
	if ctx.Err() != nil {
		return true
	}
	applied := catalog.AppliedDefinition{Hash: wanted.Hash, Err: err, At: time.Now()}
	if live != nil {
		applied.UID, applied.Generation = live.GetUID(), live.GetGeneration()
	}
	w.mu.Lock()
	if _, ok := w.wanted[name]; ok {
		w.applied[name] = applied
	}
	w.mu.Unlock()
	w.arrived()
	return err == nil
}

// bringUpToDate applies a definition unless the cluster has it already, and returns it as
// it is then. It does not force: a field that another manager has with another value is a
// conflict, which it returns.
func (w *DefinitionWriter) bringUpToDate(ctx context.Context, d catalog.Definition) (live *unstructured.Unstructured, err error) {
	name := d.Object.GetName()
	err = withTimeout(ctx, func(ctx context.Context) error {
		live, err = w.client.Get(ctx, name, metav1.GetOptions{})
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, err
	case live.GetDeletionTimestamp() != nil:
		return nil, errors.New("it is being deleted; Kanon creates it again after that")
	case live.GetAnnotations()[annotationDefinition] == d.Hash:
		return live, nil
	case live.GetAnnotations()[annotationDefinition] == "" && has(live.Object["spec"], d.Object.Object["spec"]):
		return live, nil // somebody else has applied it
	}
	if !w.mayWrite() {
		return nil, errors.New("the Kanon that leads has yet to apply it")
	}
	desired := d.Object.DeepCopy()
	annotations := desired.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	annotations[annotationDefinition] = d.Hash
	desired.SetAnnotations(annotations)
	body, err := json.Marshal(desired.Object)
	if err != nil {
		return nil, err
	}
	err = withTimeout(ctx, func(ctx context.Context) error {
		live, err = w.client.Patch(ctx, name, types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: definitionsManager, FieldValidation: metav1.FieldValidationStrict})
		return err
	})
	if err != nil {
		return nil, err
	}
	logr.FromContextOrDiscard(ctx).Info("Applied a CustomResourceDefinition", "name", name, "source", d.Text)
	return live, nil
}

// has tells whether a part of a live definition has all that is wanted there, apart from descriptions: those that a short schema
// takes from comments are lost when its rule is a Rule object.
func has(live, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		for key, value := range wanted {
			if _, isText := value.(string); key == "description" && isText {
				continue
			}
			ok = ok && has(live[key], value)
		}
		return ok
	case []any:
		live, ok := live.([]any)
		return ok && slices.EqualFunc(live, wanted, has)
	}
	return equality.Semantic.DeepEqual(live, wanted)
}
