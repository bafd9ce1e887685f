package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

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
	// applied has the hash of each definition that is known to be in place.
	applied map[string]string
	// fresh is true when the last call of apply wrote one.
	fresh bool
}

func newDefinitions(client dynamic.Interface) *definitions {
	return &definitions{
		client:  client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")),
		applied: make(map[string]string),
	}
}

// settling tells whether the last apply wrote a definition, whose kinds the API
// server will serve in a moment.
func (d *definitions) settling() bool { return d.fresh }

// apply brings the definitions up to date and returns what went wrong, by the
// name of the text that holds the definition.
func (d *definitions) apply(ctx context.Context, byText map[string][]*unstructured.Unstructured) map[string]error {
	d.fresh = false
	errs := make(map[string]error)
	for text, crds := range byText {
		for _, crd := range crds {
			wrote, err := d.applyOne(ctx, crd)
			if err != nil {
				errs[text] = fmt.Errorf("apply CustomResourceDefinition %s: %w", crd.GetName(), err)
				continue
			}
			if wrote {
				d.fresh = true
				logr.FromContextOrDiscard(ctx).Info("applied a CustomResourceDefinition", "name", crd.GetName(), "source", text)
			}
		}
	}
	return errs
}

// applyOne applies one definition unless the cluster has it as it is. Fields
// that another manager holds with other values are left to it: the conflict is
// returned.
func (d *definitions) applyOne(ctx context.Context, crd *unstructured.Unstructured) (wrote bool, err error) {
	text, err := json.Marshal(crd.Object)
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:8])
	name := crd.GetName()
	if d.applied[name] == hash {
		return false, nil
	}
	live, err := d.client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return false, err
	case live.GetAnnotations()[annotationDefinition] == hash:
		d.applied[name] = hash
		return false, nil
	}
	desired := crd.DeepCopy()
	annotations := desired.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	annotations[annotationDefinition] = hash
	desired.SetAnnotations(annotations)
	if text, err = json.Marshal(desired.Object); err != nil {
		return false, err
	}
	_, err = d.client.Patch(ctx, name, types.ApplyPatchType, text,
		metav1.PatchOptions{FieldManager: definitionsManager, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return false, err
	}
	d.applied[name] = hash
	return true, nil
}
