{{- /* What search.js looks through: each section of each page with its page, heading and address. */ -}}
{{- $sections := slice -}}
{{- range site.RegularPages | append (where site.Pages "Kind" "in" (slice "home" "section")) -}}
  {{- $page := . -}}
  {{- $path := strings.TrimPrefix "/" .RelPermalink -}}
  {{- $title := "Kanon" }}{{ range findRE `(?s)<h1[^>]*>.*?</h1>` .Content 1 }}{{ $title = . | plainify | htmlUnescape }}{{ end -}}
  {{- range split (replaceRE `<h([123])([ >])` "@@section@@<h$1$2" .Content) "@@section@@" -}}
    {{- $to := $path }}{{ $heading := "" -}}
    {{- range findRE `(?s)^<h[23].*?</h[23]>` . 1 -}}
      {{- $heading = . | plainify | htmlUnescape -}}
      {{- range findRESubmatch `id="([^"]*)"` . 1 }}{{ $to = printf "%s#%s" $path (index . 1) }}{{ end -}}
    {{- end -}}
    {{- $text := replaceRE `(?s)^<h[123].*?</h[123]>` "" . | plainify | htmlUnescape | replaceRE `\s+` " " | strings.TrimSpace -}}
    {{- if or $text $heading -}}
      {{- $sections = $sections | append (dict "page" $title "heading" $heading "to" $to "text" $text) -}}
    {{- end -}}
  {{- end -}}
  {{- range .Resources.Match "*.yaml" -}}
    {{- $sections = $sections | append (dict "page" $title "heading" .Name "to" (printf "%s#%s" $path (.Name | anchorize)) "text" (.Content | replaceRE `\s+` " ")) -}}
  {{- end -}}
{{- end -}}
window.kanonSections = {{ $sections | jsonify }};
