{{/* The labels of every object. Selectors have the first one alone: it never changes. */}}
{{- define "kanon.labels" -}}
app.kubernetes.io/name: kanon
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The objects of a file of the kustomize base or its components, in the namespace and with the labels of this release.
     Call it with a dict: root, the file, and what to add to all of them: labels, annotations. */}}
{{- define "kanon.objects" -}}
{{- $root := .root -}}
{{- $labels := merge (dict) (.labels | default dict) (include "kanon.labels" $root | fromYaml) -}}
{{- $annotations := .annotations -}}
{{- $text := $root.Files.Get (printf "files/%s" .file) | replace "kanon-system" $root.Release.Namespace -}}
{{- range splitList "\n---\n" $text }}
{{- $object := fromYaml . -}}
{{- $_ := set $object.metadata "labels" $labels -}}
{{- if $annotations }}{{ $_ := set $object.metadata "annotations" $annotations }}{{ end }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}

{{/* REPOSITORY@DIGEST or REPOSITORY:TAG; of the image that make image builds the bare name. */}}
{{- define "kanon.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else if or $image.tag (contains "/" $image.repository) -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- else -}}
{{ $image.repository }}
{{- end -}}
{{- end }}

{{/* Nine tenths of a whole number of Mi or Gi, in MiB. */}}
{{- define "kanon.memoryLimit" -}}
{{- $number := regexFind "^[0-9]+" . | int64 -}}
{{- if hasSuffix "Gi" . }}{{ $number = mul $number 1024 }}{{ end -}}
{{ div (mul $number 9) 10 }}MiB
{{- end }}
