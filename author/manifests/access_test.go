package manifests_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/rules"
)

var update = flag.Bool("update", false, "rewrite deploy/rbac-examples.yaml")

// rightsOf are those that the rules in files need.
func rightsOf(t *testing.T, files []manifests.File, o manifests.RightsOptions) *manifests.Rights {
	t.Helper()
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	checked, err := manifests.Check(t.Context(), files, nil, kinds, rules.Options{})
	if err != nil || checked.Findings.HasErrors() {
		t.Fatal(err, checked.Findings)
	}
	rights := &manifests.Rights{}
	for i, program := range checked.Programs {
		if err := rights.Add(checked.Decoded[i], program, kinds, o); err != nil {
			t.Fatal(err)
		}
	}
	return rights
}

// The roles that deploy/ has for three examples are those that are computed. deploy's tests hold that these examples work with them,
// and that nothing of them is too much.
func TestRolesOfTheExamples(t *testing.T) {
	t.Parallel()
	files, err := manifests.Read([]string{"../../examples/foo", "../../examples/namespace-baseline", "../../examples/webapp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := rightsOf(t, files, manifests.RightsOptions{}).Roles(manifests.Subject{
		Role: "kanon-examples", ServiceAccount: types.NamespacedName{Namespace: "kanon-system", Name: "kanon"},
	})
	const path = "../../deploy/rbac-examples.yaml"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const heading = "README.md lists what each part of a rule needs.\n" // ends what is not computed
	i := strings.Index(string(data), heading) + len(heading)
	if *update {
		if err := os.WriteFile(path, []byte(string(data[:i])+got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(data[i:]), got); d != "" {
		t.Error(d)
	}
}

// Each row of the table in README.md, by what it adds to a rule.
func TestRights(t *testing.T) {
	t.Parallel()
	const (
		read  = "get,list,watch"
		write = read + ",create,update,patch,delete"
		child = "  children: [{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}]\n"
	)
	deployment := "apps deployments " + read
	tests := map[string]struct {
		spec, parent string
		options      manifests.RightsOptions
		want         []string
	}{
		"a parent of a built-in kind": {parent: "{apiVersion: apps/v1, kind: Deployment}", want: []string{deployment}},
		"its status": {
			parent: "{apiVersion: apps/v1, kind: Deployment}", spec: "  status: {replicas: 1}\n",
			want: []string{deployment, "apps deployments/status patch"},
		},
		"a custom parent has conditions": {
			parent: "{apiVersion: example.com/v1, kind: Shop}", want: []string{"example.com shops " + read, "example.com shops/status patch"},
		},
		"without a status": {
			parent: "{apiVersion: example.com/v1, kind: Plain}", want: []string{"example.com plains " + read},
		},
		"in one namespace": {
			parent: "{apiVersion: apps/v1, kind: Deployment, namespaces: [a]}", want: []string{"a/apps deployments " + read},
		},
		"in two": {
			parent: "{apiVersion: apps/v1, kind: Deployment, namespaces: [a, b]}", want: []string{deployment},
		},
		"by labels of namespaces": {
			parent: "{apiVersion: apps/v1, kind: Deployment, namespaceSelector: {matchLabels: {a: b}}}",
			want:   []string{" namespaces " + read, deployment},
		},
		"a child": {parent: "{apiVersion: apps/v1, kind: Deployment}", spec: child, want: []string{" configmaps " + write, deployment}},
		"a child with an empty field is never put": {
			parent: "{apiVersion: apps/v1, kind: Deployment}",
			spec:   "  children: [{id: a, template: {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {}}}}]\n",
			want:   []string{deployment, "networking.k8s.io networkpolicies get,list,watch,create,patch,delete"},
		},
		"a child in another namespace needs a finalizer, and its namespace is awaited": {
			parent: "{apiVersion: apps/v1, kind: Deployment}",
			spec:   "  children: [{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}}]\n",
			want:   []string{" configmaps " + write, " namespaces list,watch", deployment + ",patch"},
		},
		"a cluster-scoped child of a namespaced parent too": {
			parent: "{apiVersion: apps/v1, kind: Deployment}",
			spec:   "  children: [{id: a, template: {apiVersion: v1, kind: Namespace, metadata: {name: a}}}]\n",
			want:   []string{" namespaces " + write, deployment + ",patch"},
		},
		"a child that stays": {
			parent: "{apiVersion: apps/v1, kind: Deployment}",
			spec:   strings.Replace(child, "id: a,", "id: a, deletionPolicy: Orphan,", 1),
			want:   []string{" configmaps " + write, deployment + ",patch"},
		},
		"a cleanup": {
			parent: "{apiVersion: apps/v1, kind: Deployment}",
			spec:   "  finalize: {until: \"${parent.metadata.name == 'a'}\"}\n", want: []string{deployment + ",patch"},
		},
		"parents that are deleted": {
			parent: "{apiVersion: apps/v1, kind: Deployment}",
			spec:   "  deleteWhen: ${now > timestamp('2030-01-01T00:00:00Z')}\n", want: []string{deployment + ",delete"},
		},
		"a lookup in the parent's namespace": {
			parent: "{apiVersion: apps/v1, kind: Deployment}", spec: "  lookups: [{id: a, apiVersion: v1, kind: ConfigMap, name: a}]\n",
			want: []string{" configmaps " + read, deployment},
		},
		"a lookup in a namespace that the rule names": {
			parent: "{apiVersion: apps/v1, kind: Deployment}", spec: "  lookups: [{id: a, apiVersion: v1, kind: ConfigMap, name: a, namespace: b}]\n",
			want: []string{deployment, "b/ configmaps " + read},
		},
		"what is covered is left out": {
			parent: "{apiVersion: apps/v1, kind: Deployment}", spec: child + "  lookups: [{id: a, apiVersion: v1, kind: ConfigMap, name: a, namespace: b}]\n",
			want: []string{" configmaps " + write, deployment},
		},
		"Secrets are read namespace by namespace": {
			parent: "{apiVersion: apps/v1, kind: Deployment}", spec: "  lookups: [{id: a, apiVersion: v1, kind: Secret, name: a}]\n",
			want: []string{"each/ secrets " + read, deployment},
		},
		"a patch": {
			parent: "{apiVersion: apps/v1, kind: Deployment}",
			spec:   "  patches: [{id: a, target: {apiVersion: v1, kind: Node, name: a}, template: {metadata: {labels: {a: b}}}}]\n",
			want:   []string{" nodes " + read + ",patch", deployment},
		},
		"a patch of the parent": {
			parent: "{apiVersion: apps/v1, kind: Deployment}",
			spec:   "  patches: [{id: a, template: {metadata: {labels: {a: b}}}}]\n", want: []string{deployment + ",patch"},
		},
		"a role that is granted": {
			parent: "{apiVersion: apps/v1, kind: Deployment}",
			spec:   "  allowPrivileged: true\n  children: [{id: a, template: {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: x}}}]\n",
			want:   []string{deployment, "rbac.authorization.k8s.io rolebindings " + write, "rbac.authorization.k8s.io roles bind x"},
		},
		"definitions and finalizers": {
			parent: "{apiVersion: apps/v1, kind: Deployment}", options: manifests.RightsOptions{Definitions: true, Finalizers: true},
			want: []string{"apiextensions.k8s.io customresourcedefinitions get,create,patch", deployment, "apps deployments/finalizers update"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec:\n  parent: " + test.parent + "\n" + test.spec + "---\n" + shop + "---\n" + plain
			var got []string
			for _, r := range rightsOf(t, []manifests.File{{Name: "rule.yaml", Data: []byte(text)}}, test.options).Sorted() {
				where := r.Namespace + "/"
				switch {
				case r.Each:
					where = "each/"
				case r.Namespace == "":
					where = ""
				}
				got = append(got, strings.TrimSpace(where+r.Group+" "+r.Resource+" "+strings.Join(r.Verbs, ",")+" "+strings.Join(r.Names, ",")))
			}
			var want []string
			for _, w := range test.want {
				want = append(want, strings.TrimSpace(w))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

const shop = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Shop, listKind: ShopList, plural: shops, singular: shop}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}
`

const plain = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plains.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Plain, listKind: PlainList, plural: plains, singular: plain}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`
