package apply

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// client-go's own way from Update to Apply entries takes along fields that are
// no longer rendered, so the next apply takes them away from whoever has come to
// use them: here an autoscaler's replicas, which fall to the default. That is
// why the entries are rewritten by our own rules.
func TestCsaupgradeTakesFieldsAlongThatOthersUse(t *testing.T) {
	w := newWorld(t)
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: front}
spec:
  %s
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec: {containers: [{name: web, image: nginx}]}
`
	made := w.post(fieldset.Manager, fmt.Sprintf(deployment, "replicas: 3"))
	upgraded := false
	for !upgraded { // the Deployment's controller writes its status meanwhile
		live, err := w.client(made).Get(t.Context(), made.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(fieldset.Manager), fieldset.Manager)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.client(made).Patch(t.Context(), made.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		upgraded = err == nil
	}
	applied, err := w.rawApply(fieldset.Manager, w.object(fmt.Sprintf(deployment, "")))
	if err != nil {
		t.Fatal(err)
	}
	if got := fieldValue(applied, "spec", "replicas"); got != int64(1) {
		t.Errorf("replicas are %v; the fact that they fall to 1 no longer holds, so the rewrite may be simplified", got)
	}
}
