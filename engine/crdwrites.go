package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const (
	// definitionsManager is the field manager of CustomResourceDefinitions
	// that stand beside rules.
	definitionsManager = "kanon-definitions"
	// annotationDefinition records the hash of a definition as it was written.
	annotationDefinition = "kanon.dev/definition"
	// definitionWorkers is how many definitions are applied at the same time.
	definitionWorkers = 4
)

// definitionWrites applies definitions apart from whoever wants them, and tries those again
// that are refused. It implements definitionWriter.
type definitionWrites struct {
	client  dynamic.ResourceInterface
	errands *errands[string]
	// done is called when there is an answer.
	done func()

	mu sync.Mutex
	// wanted has the definitions by their names. Guarded by mu, as is answers.
	wanted  map[string]definition
	answers map[string]definitionAnswer
}

func newDefinitionWrites(client dynamic.Interface, done func()) *definitionWrites {
	return &definitionWrites{
		client:  client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")),
		errands: newErrands[string](reportRetry/2, reportRetryMax, nil),
		done:    done,
		wanted:  make(map[string]definition),
		answers: make(map[string]definitionAnswer),
	}
}

func (w *definitionWrites) run(ctx context.Context) {
	w.errands.run(ctx, definitionWorkers, w.applyOne)
}

func (w *definitionWrites) apply(d definition) {
	name := d.object.GetName()
	w.mu.Lock()
	w.wanted[name] = d
	w.mu.Unlock()
	w.errands.ask(name)
}

func (w *definitionWrites) drop(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wanted, name)
	delete(w.answers, name)
}

func (w *definitionWrites) take() map[string]definitionAnswer {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.answers
	w.answers = make(map[string]definitionAnswer)
	return taken
}

// applyOne brings one definition up to date.
func (w *definitionWrites) applyOne(ctx context.Context, name string) (done bool) {
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
	answer := definitionAnswer{hash: wanted.hash, err: err, at: time.Now()}
	if live != nil {
		answer.uid, answer.generation = live.GetUID(), live.GetGeneration()
	}
	w.mu.Lock()
	if _, ok := w.wanted[name]; ok {
		w.answers[name] = answer
	}
	w.mu.Unlock()
	w.done()
	return err == nil
}

// bringUpToDate applies a definition unless the cluster has it as it is, and returns it as
// it is then. Fields that another manager holds with other values are left to it: the
// conflict is returned.
func (w *definitionWrites) bringUpToDate(ctx context.Context, d definition) (live *unstructured.Unstructured, err error) {
	name := d.object.GetName()
	err = withLimit(ctx, func(ctx context.Context) error {
		live, err = w.client.Get(ctx, name, metav1.GetOptions{})
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, err
	case live.GetDeletionTimestamp() != nil:
		return nil, errors.New("it is being deleted, and made anew when it is gone")
	case live.GetAnnotations()[annotationDefinition] == d.hash:
		return live, nil
	}
	desired := d.object.DeepCopy()
	annotations := desired.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	annotations[annotationDefinition] = d.hash
	desired.SetAnnotations(annotations)
	body, err := json.Marshal(desired.Object)
	if err != nil {
		return nil, err
	}
	err = withLimit(ctx, func(ctx context.Context) error {
		live, err = w.client.Patch(ctx, name, types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: definitionsManager, FieldValidation: metav1.FieldValidationStrict})
		return err
	})
	if err != nil {
		return nil, err
	}
	logr.FromContextOrDiscard(ctx).Info("applied a CustomResourceDefinition", "name", name, "source", d.text)
	return live, nil
}
