/* SPDX-License-Identifier: MIT */
/* SVG to PNG, by librsvg and cairo. */
#include "llmperf/png.h"

#include <cairo.h>
#include <errno.h>
#include <fontconfig/fontconfig.h>
#include <librsvg/rsvg.h>
#include <math.h>
#include <string.h>

static const double PIXELS_MOST = 1e8;

static cairo_status_t put_bytes(void *context, const unsigned char *bytes, unsigned size)
{
    return fwrite(bytes, 1, size, context) == size ? CAIRO_STATUS_SUCCESS
                                                   : CAIRO_STATUS_WRITE_ERROR;
}

/* Without any font a picture would come out without its text. */
static bool has_font(void)
{
    const FcFontSet *fonts = FcInit() ? FcConfigGetFonts(NULL, FcSetSystem) : NULL;
    return fonts && fonts->nfont > 0;
}

static llmperf_status status_of(cairo_status_t status, llmperf_error *error)
{
    if (status == CAIRO_STATUS_SUCCESS)
        return LLMPERF_OK;
    if (status == CAIRO_STATUS_NO_MEMORY)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (status == CAIRO_STATUS_WRITE_ERROR)
        return llmperf_fail(error, LLMPERF_E_IO, "cannot write the PNG: %s",
                            strerror(errno ? errno : EIO));
    return llmperf_fail(error, LLMPERF_E_BUG, "cairo: %s", cairo_status_to_string(status));
}

static llmperf_status draw(RsvgHandle *handle, cairo_t *cairo, double width, double height,
                           llmperf_error *error)
{
    GError *why = NULL;
    const RsvgRectangle page = {.x = 0, .y = 0, .width = width, .height = height};
    if (rsvg_handle_render_document(handle, cairo, &page, &why))
        return LLMPERF_OK;
    llmperf_status status = llmperf_fail(error, LLMPERF_E_BUG, "librsvg: %s", why->message);
    g_error_free(why);
    return status;
}

static llmperf_status render(FILE *out, RsvgHandle *handle, double scale, llmperf_error *error)
{
    double width = 0, height = 0;
    if (!rsvg_handle_get_intrinsic_size_in_pixels(handle, &width, &height))
        return llmperf_fail(error, LLMPERF_E_BUG, "librsvg: the picture has no size");
    width = ceil(width * scale);
    height = ceil(height * scale);
    if (!(width * height <= PIXELS_MOST))
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "a picture of %.0f x %.0f pixels; at most %.0f million are allowed "
                            "(--width, --height, --scale)",
                            width, height, PIXELS_MOST / 1e6);
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    cairo_t *cairo = cairo_create(surface);
    llmperf_status status = draw(handle, cairo, width, height, error);
    if (status == LLMPERF_OK)
        status = status_of(cairo_status(cairo), error);
    errno = 0;
    if (status == LLMPERF_OK)
        status = status_of(cairo_surface_write_to_png_stream(surface, put_bytes, out), error);
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
    return status;
}

static llmperf_status png_write(FILE *out, const char *svg, size_t size, double scale,
                                llmperf_error *error)
{
    GError *why = NULL;
    if (!has_font())
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "no font is installed, so a PNG would have no text; install one "
                            "(fonts-dejavu-core) or write SVG");
    RsvgHandle *handle = rsvg_handle_new_from_data((const guint8 *)svg, size, &why);
    if (!handle) {
        llmperf_status status = llmperf_fail(error, LLMPERF_E_BUG, "librsvg: %s", why->message);
        g_error_free(why);
        return status;
    }
    llmperf_status status = render(out, handle, scale, error);
    g_object_unref(handle);
    return status;
}

LLMPERF_API const llmperf_png_module *llmperf_png_table(void);

const llmperf_png_module *llmperf_png_table(void)
{
    static const llmperf_png_module module = {.abi = LLMPERF_PNG_ABI, .write = png_write};
    return &module;
}
