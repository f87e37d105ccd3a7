/* SPDX-License-Identifier: MIT */
#include "report/svg.h"

#include <stdbool.h>

#include "base/text.h"

static void put_char(const char *at, uint32_t c, const char *end, FILE *f)
{
	if (c == '<')
		fputs("&lt;", f);
	else if (c == '>')
		fputs("&gt;", f);
	else if (c == '&')
		fputs("&amp;", f);
	else if (text_shows(c))
		fwrite(at, 1, (size_t)(end - at), f);
	else
		fputc('?', f);
}

void svg_text(FILE *f, const char *s)
{
	while (*s) {
		const char *at = s;
		uint32_t c = text_next(&s);

		put_char(at, c, s, f);
	}
}

FILE *svg_open(const char *path, const char *title, struct err *err)
{
	FILE *f = fopen(path, "we");

	if (!f) {
		err_sys(err, "cannot write %s", path);
		return NULL;
	}
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"sans-serif\" font-size=\"13\">\n<text x=\"%.0f\" y=\"20\">",
		SVG_LEFT + SVG_WIDTH + 20, SVG_TOP + SVG_HEIGHT + 50, SVG_LEFT);
	svg_text(f, title);
	fputs("</text>\n", f);
	return f;
}

int svg_close(FILE *f, const char *path, struct err *err)
{
	bool bad;

	fprintf(f, "<path d=\"M%.0f %.0fV%.0fH%.0f\" fill=\"none\" stroke=\"#444\"/>\n</svg>\n",
		SVG_LEFT, SVG_TOP, SVG_TOP + SVG_HEIGHT, SVG_LEFT + SVG_WIDTH);
	bad = ferror(f);
	if (!fclose(f) && !bad)
		return 0;
	err_sys(err, "cannot write %s", path);
	return err_hint(err, "is the disk full?");
}
