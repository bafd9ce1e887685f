package program_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/rules/program"
)

func TestOfObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}":                                                              "",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {kanon.dev/rules: 'true'}}}":                           "it contains rules",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {kanon.dev/rules: ''}}}":                               "it contains rules",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, type: Opaque}":                                                   "",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, type: kubernetes.io/service-account-token}":                      "it is a token of a ServiceAccount",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, type: bootstrap.kubernetes.io/token}":                            "it is a token for nodes",
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}":                                                         "",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}":                                                        "",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}}":                                  "it grants rights",
		"{apiVersion: rbac.authorization.k8s.io/v2, kind: Anything, metadata: {name: a}}":                                     "it grants rights",
		"{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: a}}":              "it decides about the requests of others",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}":                          "it defines kinds for the whole cluster",
		"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}}":                                      "it answers requests of others",
		"{apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: a}}":                                                   "it is a rule",
		"{apiVersion: other.example.com/v1, kind: Rule, metadata: {name: a}}":                                                 "",
		"{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: a}}":                          "it asks for an identity",
		"{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {kanon.dev/rules: 'true'}}, type: [not, a, text]}":        "",
		"{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: a}, spec: {matchingPrecedence: 1}}": "it decides whose requests are served",
	} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		if got := program.PrivilegeOfObject(object); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
