// Package redact keeps the values of Secrets out of what people are shown, wherever these values have got to: a rule may compute one
// into a ConfigMap, a status, an Event or the message of a condition.
//
//	values := redact.Values{}
//	values.Note(secret)                       // data: {token: dG9wc2VjcmV0}
//	values.Text("https://topsecret@db")       // https://(hidden)@db
//	values.Object(configMap)                  // data: {url: https://(hidden)@db}
//
// It knows values by their text, and by what base64, JSON, YAML and URLs make of it (forms.go). What is computed from one in another
// way, such as a hash of it, is shown. A value of fewer than
// LeastPart characters is hidden only where it stands alone: within other text it would be found where it is not.
package redact
