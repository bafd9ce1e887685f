package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
)

// definitions applies the CustomResourceDefinitions that stand beside rules.
// It never deletes one: that would delete every object of its kind.
type definitions struct {
	client dynamic.ResourceInterface
	// holders has, by the name of a definition, the text that it is taken from.
	holders map[string]string
	// applied has the hash of each definition that is known to be in place.
	applied map[string]string
	// refused has the definitions that could not be applied.
	refused map[string]refusal
	// fresh is true when the last call of apply wrote one.
	fresh bool
}

func newDefinitions(client dynamic.Interface) *definitions {
	return &definitions{
		client:  client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")),
		holders: make(map[string]string),
		applied: make(map[string]string),
		refused: make(map[string]refusal),
	}
}

// refusal is a definition that could not be applied, and is not tried again for
// a while unless it changes.
type refusal struct {
	hash  string
	err   error
	at    time.Time
	pause time.Duration
}

// settling tells whether the last apply wrote a definition, whose kinds the API
// server will serve in a moment.
func (d *definitions) settling() bool { return d.fresh }

// forget has the definitions of kinds that changed looked at again: one may have
// been deleted.
func (d *definitions) forget(changed kindSet) {
	for gvk := range changed {
		maps.DeleteFunc(d.applied, func(name, _ string) bool { return strings.HasSuffix(name, "."+gvk.Group) })
		maps.DeleteFunc(d.refused, func(name string, _ refusal) bool { return strings.HasSuffix(name, "."+gvk.Group) })
	}
}

// definition is one CustomResourceDefinition as one text has it.
type definition struct {
	text   string
	object *unstructured.Unstructured
	hash   string
}

// apply brings the definitions up to date and returns what went wrong, by the
// name of the text that holds the definition. Of two versions of one definition
// that of the text which had it before counts, or else of the first by name.
func (d *definitions) apply(ctx context.Context, byText map[string][]*unstructured.Unstructured) map[string]error {
	d.fresh = false
	byName, errs := collectDefinitions(byText)
	maps.DeleteFunc(d.holders, func(name, _ string) bool { return byName[name] == nil })
	maps.DeleteFunc(d.refused, func(name string, _ refusal) bool { return byName[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		versions := byName[name]
		winner := versions[max(0, slices.IndexFunc(versions, func(v definition) bool { return v.text == d.holders[name] }))]
		d.holders[name] = winner.text
		for _, v := range versions {
			if v.hash != winner.hash {
				errs[v.text] = errors.Join(errs[v.text], fmt.Errorf("CustomResourceDefinition %s stands in %s already, in another version", name, winner.text))
			}
		}
		if err := d.tryOne(ctx, winner); err != nil {
			errs[winner.text] = errors.Join(errs[winner.text], fmt.Errorf("apply CustomResourceDefinition %s: %w", name, err))
		}
	}
	return errs
}

// collectDefinitions sorts definitions by their names, and each name's by the
// texts that hold it.
func collectDefinitions(byText map[string][]*unstructured.Unstructured) (byName map[string][]definition, errs map[string]error) {
	byName, errs = make(map[string][]definition), make(map[string]error)
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		for _, object := range byText[text] {
			data, err := json.Marshal(object.Object)
			if err != nil {
				errs[text] = errors.Join(errs[text], fmt.Errorf("encode CustomResourceDefinition %s: %w", object.GetName(), err))
				continue
			}
			sum := sha256.Sum256(data)
			name := object.GetName()
			byName[name] = append(byName[name], definition{text: text, object: object, hash: hex.EncodeToString(sum[:8])})
		}
	}
	return byName, errs
}

// tryOne applies one definition, unless that failed a short while ago: then it
// gives the same answer.
func (d *definitions) tryOne(ctx context.Context, v definition) error {
	name := v.object.GetName()
	last, refused := d.refused[name]
	if last.hash != v.hash {
		last = refusal{hash: v.hash, pause: reportRetry / 2}
	} else if refused && time.Since(last.at) < last.pause {
		return last.err
	}
	err := d.applyOne(ctx, v)
	if err == nil {
		delete(d.refused, name)
		return nil
	}
	d.refused[name] = refusal{hash: v.hash, err: err, at: time.Now(), pause: min(2*last.pause, reportRetryMax)}
	return err
}

// applyOne applies one definition unless the cluster has it as it is. Fields
// that another manager holds with other values are left to it: the conflict is
// returned.
func (d *definitions) applyOne(ctx context.Context, v definition) error {
	name := v.object.GetName()
	if d.applied[name] == v.hash {
		return nil
	}
	live, err := d.client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	case live.GetDeletionTimestamp() != nil:
		return errors.New("it is being deleted, and made anew when it is gone")
	case live.GetAnnotations()[annotationDefinition] == v.hash:
		d.applied[name] = v.hash
		return nil
	}
	desired := v.object.DeepCopy()
	annotations := desired.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	annotations[annotationDefinition] = v.hash
	desired.SetAnnotations(annotations)
	body, err := json.Marshal(desired.Object)
	if err != nil {
		return err
	}
	_, err = d.client.Patch(ctx, name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: definitionsManager, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return err
	}
	d.applied[name] = v.hash
	d.fresh = true
	logr.FromContextOrDiscard(ctx).Info("applied a CustomResourceDefinition", "name", name, "source", v.text)
	return nil
}
