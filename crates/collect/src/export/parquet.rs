//! Parquet: one table, a row for each sample and each gap.
//!
//! The columns are those of CSV, and every row says the unit, scale, offset and rate of its channel: repeated, they take
//! next to no room. A column that says nothing about a row is null there. Row groups end by their number of rows, so that
//! memory holds one.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;

use super::{Channel, Gap, Run, Sink};
use crate::limits::EXPORT_ROWS_MAX;
use crate::record::Record;
use crate::waveform::Kind;

/// Values of a column, and for each row whether it has one.
struct Column<T> {
    values: Vec<T>,
    levels: Vec<i16>,
}

impl<T> Default for Column<T> {
    fn default() -> Column<T> {
        Column { values: Vec::new(), levels: Vec::new() }
    }
}

impl<T> Column<T> {
    fn push(&mut self, value: Option<T>) {
        self.levels.push(value.is_some().into());
        self.values.extend(value);
    }
}

/// Builds the schema, the columns that are held, and their writing, from one line each.
macro_rules! columns {
    ($($name:ident $value:ty, $writer:ty, $schema:literal;)*) => {
        const SCHEMA: &str = concat!("message samples { ", $("OPTIONAL ", $schema, "; ",)* "}");

        #[derive(Default)]
        struct Columns { $($name: Column<$value>),* }

        /// One row.
        #[derive(Default)]
        struct Row { $($name: Option<$value>),* }

        impl Columns {
            fn push(&mut self, row: Row) {
                $(self.$name.push(row.$name);)*
            }

            fn write<W: Write + Send>(&self, mut group: SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError> {
                $(put::<$writer, W>(&mut group, &self.$name)?;)*
                group.close().map(drop)
            }
        }
    };
}

columns! {
    channel ByteArray, ByteArrayType, "BYTE_ARRAY channel (UTF8)";
    row ByteArray, ByteArrayType, "BYTE_ARRAY row (UTF8)";
    index i64, Int64Type, "INT64 index (UINT_64)";
    count i64, Int64Type, "INT64 count (UINT_64)";
    sample_ps i64, Int64Type, "INT64 sample_ps (UINT_64)";
    until_ps i64, Int64Type, "INT64 until_ps (UINT_64)";
    uncertainty_ns i32, Int32Type, "INT32 uncertainty_ns (UINT_32)";
    code i32, Int32Type, "INT32 code";
    value f64, DoubleType, "DOUBLE value";
    why ByteArray, ByteArrayType, "BYTE_ARRAY why (UTF8)";
    unit ByteArray, ByteArrayType, "BYTE_ARRAY unit (UTF8)";
    scale f64, DoubleType, "DOUBLE scale";
    offset f64, DoubleType, "DOUBLE offset";
    sample_rate_hz f64, DoubleType, "DOUBLE sample_rate_hz";
    format ByteArray, ByteArrayType, "BYTE_ARRAY format (UTF8)";
    epoch i32, Int32Type, "INT32 epoch (UINT_8)";
    counter i32, Int32Type, "INT32 counter (UINT_32)";
    arrived_ns i64, Int64Type, "INT64 arrived_ns (UINT_64)";
}

fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column<T::T>,
) -> Result<(), ParquetError> {
    let mut writer = group.next_column()?.expect("the schema has this column");
    writer.typed::<T>().write_batch(&column.values, Some(&column.levels), None)?;
    writer.close()
}

/// Writes Parquet.
pub(super) struct Parquet {
    writer: SerializedFileWriter<Box<dyn Write + Send>>,
    held: Columns,
    channel: Option<Words>,
    run: Option<Run>,
}

/// A channel, and its words as bytes that rows share.
struct Words {
    channel: Channel,
    name: ByteArray,
    unit: ByteArray,
    format: ByteArray,
}

fn fault(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

impl Parquet {
    pub(super) fn new(writer: Box<dyn Write + Send>) -> io::Result<Parquet> {
        let schema = Arc::new(parse_message_type(SCHEMA).expect("the schema is ours"));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("selvedge ", env!("CARGO_PKG_VERSION")).to_owned());
        let writer =
            SerializedFileWriter::new(writer, schema, Arc::new(properties.build())).map_err(fault)?;
        Ok(Parquet { writer, held: Columns::default(), channel: None, run: None })
    }

    /// A row that says what its run is.
    fn row(&self, row: &'static str) -> Row {
        let words = self.channel.as_ref().expect("a row is of a channel");
        Row {
            channel: Some(words.name.clone()),
            row: Some(row.into()),
            unit: Some(words.unit.clone()),
            scale: Some(words.channel.scale()),
            offset: Some(words.channel.offset()),
            format: Some(words.format.clone()),
            ..Row::default()
        }
    }

    fn push(&mut self, row: Row) -> io::Result<()> {
        self.held.push(row);
        if self.held.row.levels.len() < EXPORT_ROWS_MAX { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let group = self.writer.next_row_group().map_err(fault)?;
        held.write(group).map_err(fault)
    }
}

impl Sink for Parquet {
    fn channel(&mut self, channel: &Channel) -> io::Result<()> {
        self.channel = Some(Words {
            channel: channel.clone(),
            name: channel.name.as_str().into(),
            unit: channel.unit().into(),
            format: channel.key.kind.name().into(),
        });
        Ok(())
    }

    fn gap(&mut self, gap: &Gap) -> io::Result<()> {
        let row = Row {
            index: Some(gap.first.cast_signed()),
            count: Some(gap.count.cast_signed()),
            sample_ps: gap.from_ps.map(u64::cast_signed),
            until_ps: gap.to_ps.map(u64::cast_signed),
            why: Some(gap.why.name().into()),
            ..self.row("gap")
        };
        self.push(row)
    }

    fn run(&mut self, run: &Run) -> io::Result<()> {
        self.run = Some(run.clone());
        Ok(())
    }

    fn frame(&mut self, record: &Record) -> io::Result<()> {
        let run = self.run.clone().expect("a record is of a run");
        let channel = self.channel.as_ref().expect("a record is of a channel").channel.clone();
        let rate_hz = run.rate_hz();
        for (offset, sample) in (0..).zip(record.waveform.values()) {
            let row = Row {
                index: Some(record.index(offset).cast_signed()),
                sample_ps: run.instant_ps(record, offset).map(u64::cast_signed),
                uncertainty_ns: Some(record.uncertainty_ns)
                    .filter(|&ns| ns != u32::MAX)
                    .map(u32::cast_signed),
                code: (channel.key.kind == Kind::Code).then_some(sample as i32),
                value: Some(channel.value(sample)),
                sample_rate_hz: rate_hz,
                epoch: Some(record.epoch.into()),
                counter: Some(record.counter.cast_signed()),
                arrived_ns: Some(record.arrived_ns.cast_signed()),
                ..self.row("sample")
            };
            self.push(row)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if !self.held.row.levels.is_empty() {
            self.write()?;
        }
        self.writer.close().map(drop).map_err(fault)
    }
}
